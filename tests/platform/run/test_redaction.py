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
        ("curl -H 'Authorization: Bearer secret' h", "curl -H 'Authorization: ***' h"),
        ("authorization: Basic bWU6c2VjcmV0\nHost: h", "authorization: ***\nHost: h"),
        ("{'Authorization': 'Bearer secret', 'n': 1}", "{'Authorization': '***', 'n': 1}"),
        ("sent Bearer abc.DEF-123= to h", "sent Bearer *** to h"),
        ("Set-Cookie: session=secret; Path=/", "Set-Cookie: ***"),
        ("X-Api-Key: secret", "X-Api-Key: ***"),
        ("WANDB_API_KEY=secret OPENAI_KEY=secret n=1", "WANDB_API_KEY=*** OPENAI_KEY=*** n=1"),
        ("GITHUB_PAT=secret HF_TOKEN: secret", "GITHUB_PAT=*** HF_TOKEN: ***"),
        ("CLIENT_SECRET='two words' and more", "CLIENT_SECRET='***' and more"),
        ('password="a \\"quoted\\" secret", n=1', 'password="***", n=1'),
        ("Server=h;Uid=me;Pwd=secret;n=1", "Server=h;Uid=me;Pwd=***;n=1"),
        ("DB_PWD=secret pwd: secret", "DB_PWD=*** pwd: ***"),
        ("AccountName=me;AccountKey=c2VjcmV0==;n=1", "AccountName=me;AccountKey=***;n=1"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7", "AWS_SECRET_ACCESS_KEY=***"),
        ("tool --password secret --api-key 'se cret' x", "tool --password *** --api-key '***' x"),
        ("tool --auth-token secret --token --x", "tool --auth-token *** --token --x"),
        ("curl -u me:secret https://h", "curl -u me:*** https://h"),
        ("machine h login me password secret", "machine h login me password ***"),
        ("key id AKIAIOSFODNN7EXAMPLE.", "key id ***."),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"),
        ("github_pat_11ABCDEFG0123456789_abcdefghijklmnop", "***"),
        ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "***"),
        ("sk-proj-abc123DEF456-ghi789", "***"),
        ("glpat-abcdefghij0123456789 xoxb-1234567890-abcdef", "*** ***"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VjcmV0", "jwt ***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nsecret\n-----END RSA PRIVATE KEY-----\nx", "***\nx"),
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
        "max_tokens=100 token_count=5 sort_key=name primary_key: 5 file_pat=x",
        "KeyRoom-S10 keyboard=us monkey=1 compat=2 path=/x PATH=/bin passed: 5",
        "PWD=/home/me OLDPWD=/tmp",
        "hyperparameters.lr=0.0003 --seeds 0-4 --bonuses 'e3b * rnd' --user me",
        "task-0123456789abcdef risk-averse-policy-1 hf_datasets_cache_folder",
        "0123456789abcdef0123456789abcdef01234567",
        "the bearer of news, basic settings, secrets of the trade",
        "count.global(feature=message, count_scope=runner)",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text
    assert not is_redacted(redacted(text))


def test_secrets_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abcdef-123")
    monkeypatch.setenv("SOME_SECRET", "1")
    monkeypatch.setenv("PASSWORD_STORE_DIR", "header")
    monkeypatch.setenv("PWD", "/home/me/work")
    monkeypatch.setenv("SORT_KEY", "position")
    monkeypatch.setenv("WANDB_API_KEY", "0123abcd4567")
    text = "header abcdef-123 of run 1 in /home/me/work, position 0123abcd4567"
    assert redacted(text) == "header *** of run 1 in /home/me/work, position ***"


def test_long_texts_take_no_longer_than_their_length_says() -> None:
    # Minutes, if a pattern went back and forth over it.
    text = "x" * 300_000 + "://" + "a?=" * 100_000
    assert redacted(text + "@") == "x" * 300_000 + "://***@"
    for part in (
        "A_KEY",
        "password",
        'token="',
        "bearer ",
        "sk-",
        "--api-",
        "-u a",
        "_PAT=' ",
        "login a ",
        "eyJaaaaaaaaa.",
    ):
        redacted(part * 30_000)
