"""Faults planted in cases of known health: does the examination name them?"""
