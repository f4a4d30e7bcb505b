"""Ready-made programs: functions of matrices, which also run on plain arrays, and two models with their own state."""

from viewlet.matrix.models.components import PrincipalComponents, covariance, principal_components
from viewlet.matrix.models.iterations import general, gradient_descent, pagerank, power, sum_of_powers
from viewlet.matrix.models.ranking import PageRank
from viewlet.matrix.models.regression import ols, predicting, ridge

__all__ = [
    "PageRank",
    "PrincipalComponents",
    "covariance",
    "general",
    "gradient_descent",
    "ols",
    "pagerank",
    "power",
    "predicting",
    "principal_components",
    "ridge",
    "sum_of_powers",
]
