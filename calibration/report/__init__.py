"""Verdicts and references -> calibration report: `build_report` is the whole interface."""

from calibration.report.build import build_report
from calibration.report.figures import baseline
from calibration.report.ranking import rank

__all__ = ["baseline", "build_report", "rank"]
