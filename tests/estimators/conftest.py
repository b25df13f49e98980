from __future__ import annotations

import pytest

from classifiers import ALL


@pytest.fixture(params=ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)
