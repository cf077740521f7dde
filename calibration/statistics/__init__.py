"""Statistics for calibration and admission, one topic a module."""
