"""mpu-bench: reproduces the benchmarks of five papers on perceptron-like and budgeted SVM training."""

__version__ = "0.1.0"
