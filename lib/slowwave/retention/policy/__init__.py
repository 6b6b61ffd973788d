"""What is to go and what stays: a pure function from sessions and rules to verdicts, each with its reason."""

from slowwave.retention.policy.decide import Decision, Shortfall, decide
from slowwave.retention.policy.model import ClassRules, Policy, Rules, Subject, Verdict

__all__ = ["ClassRules", "Decision", "Policy", "Rules", "Shortfall", "Subject", "Verdict", "decide"]
