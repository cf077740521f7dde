"""What is known about a judge: labels, statistics, reports, policies and decisions."""
