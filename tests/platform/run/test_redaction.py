"""No credential survives in a text, and what is none stays."""

from __future__ import annotations

import pytest

from bonuslab.platform.run.redaction import is_redacted, redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:secret@host:5000/path", "https://***@host:5000/path"),
        ("https://secret@host", "https://***@host"),
        ("postgresql+psycopg2://u:se@cr/et@host/db", "postgresql+psycopg2://***@host/db"),
        ("https://host/x?token=secret&page=secret#top", "https://host/x?token=***&page=***#top"),
        ("grid --tracking-uri 'http://u:secret@h:1' --seeds 3", "grid --tracking-uri 'http://***@h:1' --seeds 3"),
        ("s3://key:secret@bucket/a and s3://bucket/b", "s3://***@bucket/a and s3://bucket/b"),
        ('{"api_key": "secret", "seed": 3}', '{"api_key": "***", "seed": 3}'),
        ("MLFLOW_TRACKING_PASSWORD=secret make grid", "MLFLOW_TRACKING_PASSWORD=*** make grid"),
    ],
)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert redacted(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:////home/me@work/runs/mlflow.db",
        "http://127.0.0.1:5000",
        "e3b * rnd · seed 0",
        "databricks",
        "tokens: 5",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text
    assert not is_redacted(redacted(text))


def test_secrets_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abcdef-123")
    monkeypatch.setenv("SOME_SECRET", "1")
    monkeypatch.setenv("PASSWORD_STORE_DIR", "header")
    assert redacted("header abcdef-123 of run 1") == "header *** of run 1"


def test_long_texts_take_no_longer_than_their_length_says() -> None:
    # Minutes, if a pattern went back and forth over it.
    text = "x" * 300_000 + "://" + "a?=" * 100_000
    assert redacted(text + "@") == "x" * 300_000 + "://***@"
