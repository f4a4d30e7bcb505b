"""Linear least squares, ordinary or ridge: coefficients and their statistics.

Everything is computed from Xᵀ·X, Xᵀ·y, yᵀ·y and the sum of y, so a changed row costs O(p²) for p predictors, however
many rows there are. In return, the sum of squared residuals is a difference of such sums, accurate to ε·yᵀy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.matrix.algebra.numpy_functions import diagonal

Model = Callable[..., dict[str, Any]]


def ols(X: Any, y: Any) -> dict[str, Any]:
    """Ordinary least squares of y (n × 1) on X (n × p): `coefficients`, `standard_errors`, `variance`, `r_squared`.

    `variance` is that of the residuals, over n − p; R² is about the mean of y. An intercept is a column of ones.
    """
    gram = X.T @ X
    inverse = np.linalg.inv(gram)
    return _fit(X, y, gram, inverse, inverse, X.shape[1])


def ridge(penalty: float) -> Model:
    """Least squares with penalty · ‖β‖² added, with results named as in `ols`, which it equals for a penalty of zero.

    With the hat matrix H, Ŷ = H·y, the residuals have n − tr(2H − H·Hᵀ) degrees of freedom. The standard errors are
    those of the biased estimate: they include its variance, not its bias.
    """

    def model(X: Any, y: Any) -> dict[str, Any]:
        gram = X.T @ X
        inverse = np.linalg.inv(gram + penalty * np.eye(X.shape[1], like=X))
        shrunk = inverse @ gram  # has the trace of H
        return _fit(X, y, gram, inverse, shrunk @ inverse, 2 * np.trace(shrunk) - np.trace(shrunk @ shrunk))

    return model


def predicting(model: Model) -> Model:
    """The model with a third matrix Z of rows to predict for: `prediction` is Z·β."""

    def predict(X: Any, y: Any, Z: Any) -> dict[str, Any]:
        fit = model(X, y)
        return {**fit, "prediction": Z @ fit["coefficients"]}

    return predict


def _fit(X: Any, y: Any, gram: Any, inverse: Any, covariance: Any, parameters: Any) -> dict[str, Any]:
    """The results, from the coefficients' covariance for unit variance of y and the effective number of parameters."""
    moments = X.T @ y
    beta = inverse @ moments
    squared = np.sum(y.T @ y)
    residual = np.maximum(squared - 2 * np.sum(beta.T @ moments) + np.sum(beta.T @ (gram @ beta)), 0.0)
    variance = residual / (X.shape[0] - parameters)
    spread = squared - np.sum(y) * np.sum(y) / X.shape[0]
    return {
        "coefficients": beta,
        "standard_errors": np.sqrt(variance * diagonal(covariance)),
        "variance": variance,
        "r_squared": 1.0 - residual / spread,
    }
