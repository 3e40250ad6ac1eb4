"""Pure library: arrays in, values out; no file, no process, no clock."""
