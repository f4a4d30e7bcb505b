"""Linear regression by least squares, plain or ridge: coefficients and what statistics says of them.

Everything is put together from Xᵀ·X, Xᵀ·y, yᵀ·y and the sum of y, so a changed row costs O(p²) for p predictors, however
many rows there are. The price: the sum of squared residuals is a difference of such sums, good to ε·yᵀy.
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
    return _fit(X, y, 0.0)


def ridge(penalty: float) -> Model:
    """Least squares with penalty · ‖β‖² added: the coefficients and the fit, no standard errors."""

    def model(X: Any, y: Any) -> dict[str, Any]:
        fit = _fit(X, y, penalty)
        return {name: fit[name] for name in ("coefficients", "r_squared")}

    return model


def predicting(model: Model) -> Model:
    """The same model with a third matrix Z, of rows to predict for: `prediction` is Z·β."""

    def predict(X: Any, y: Any, Z: Any) -> dict[str, Any]:
        fit = model(X, y)
        return {**fit, "prediction": Z @ fit["coefficients"]}

    return predict


def _fit(X: Any, y: Any, penalty: float) -> dict[str, Any]:
    gram, moments = X.T @ X, X.T @ y
    inverse = np.linalg.inv(gram + penalty * np.eye(X.shape[1], like=X) if penalty else gram)
    beta = inverse @ moments
    squared = np.sum(y.T @ y)
    residual = np.maximum(squared - 2 * np.sum(beta.T @ moments) + np.sum(beta.T @ (gram @ beta)), 0.0)
    variance = residual / (X.shape[0] - X.shape[1])
    spread = squared - np.sum(y) * np.sum(y) / X.shape[0]
    return {
        "coefficients": beta,
        "standard_errors": np.sqrt(variance * diagonal(inverse)),
        "variance": variance,
        "r_squared": 1.0 - residual / spread,
    }
