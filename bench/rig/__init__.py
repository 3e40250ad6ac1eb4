"""What the benchmarks share: figures, paired timing, throwaway workspaces."""
