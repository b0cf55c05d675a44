"""What Brownout must reach, measured: `python -m benchmarks`."""
