"""Verdicts and references -> calibration report: `build_report` is the whole interface."""

from calibration.report.build import build_report
from calibration.report.figures import baseline

__all__ = ["baseline", "build_report"]
