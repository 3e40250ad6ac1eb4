"""Where a stage runs: images, build keys and the runners."""
