"""Use case: recorded labels and verdicts -> reports, looks and outcomes, in one transaction."""

from calibration.calibrate.run import Asked, Calibrated, calibrate

__all__ = ["Asked", "Calibrated", "calibrate"]
