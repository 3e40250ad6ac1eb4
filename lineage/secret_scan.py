"""Looks for secrets before a file is put into history; tells where, never what."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ALLOW_FILE = ".assay-secrets-allow"
ALLOW_MARK = b"assay: allow-secret"
BINARY_PROBE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Secret:
    """Where one stands."""

    path: str
    line: int
    kind: str


_TOKENS = {
    "a private key": rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    "an AWS access key": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "an AWS secret key": rb"(?i)aws.{0,20}secret.{0,20}[\"'=:\s][A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
    "a GitHub token": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "a GitLab token": rb"\bglpat-[A-Za-z0-9_-]{20,}",
    "a Slack token": rb"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a Google key": rb"\bAIza[0-9A-Za-z_-]{35}\b",
    "an API key": rb"\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{24,}",
    "a Hugging Face token": rb"\bhf_[A-Za-z0-9]{30,}",
    "an npm token": rb"\bnpm_[A-Za-z0-9]{36}\b",
    "a PyPI token": rb"\bpypi-AgEI[A-Za-z0-9_-]{20,}",
    "a JSON web token": rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a password in an address": rb"\b[a-z][a-z0-9+.-]*://[^\s:/@'\"<>{}$]+:(?P<value>[^\s/@'\"<>{}$]{3,})@",
    "a password": (
        rb"(?i)(?:password|passwd|passphrase|secret|api_?key|apikey|auth_?token|access_?token)"
        rb"[\w-]*[\"']?\s*[:=]\s*[\"'](?P<value>[^\"'\s]{8,})[\"']"
    ),
    "a password in an environment file": (
        rb"^\s*(?:export\s+)?[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY)[A-Z0-9_]*"
        rb"\s*=\s*(?P<value>[^\s\"'#]{8,})\s*$"
    ),
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _TOKENS.items()}
_PLACEHOLDER = re.compile(
    rb"(?i)^(?:<.*|\$.*|\{.*|%.*|\*+|x+|\.+|-+)$|example|placeholder|change.?me|your[_-]|dummy"
    rb"|redacted|environ|getenv|^none$|[()\[\]]"
)


def find(workspace: Path, paths: list[str]) -> list[Secret]:
    """Return the secrets in these files, by file and line.

    A line is let through by `assay: allow-secret` on it, a file by its pattern in the workspace's
    `.assay-secrets-allow` (one pattern a line, as in `tests/keys/*.pem`).
    """
    allowed = _allowed(workspace)
    return [
        secret
        for path in paths
        if not any(fnmatchcase(path, pattern) for pattern in allowed)
        for secret in _scan(workspace / path, path)
    ]


def _allowed(workspace: Path) -> list[str]:
    try:
        lines = (workspace / ALLOW_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _scan(file: Path, path: str) -> Iterator[Secret]:
    if file.is_symlink() or not file.is_file():
        return
    content = file.read_bytes()
    if b"\0" in content[:BINARY_PROBE_BYTES]:
        return
    for number, line in enumerate(content.splitlines(), 1):
        if ALLOW_MARK in line:
            continue
        kind = next((kind for kind, found in _PATTERNS.items() if _matches(found, line)), None)
        if kind:
            yield Secret(path, number, kind)


def _matches(pattern: re.Pattern[bytes], line: bytes) -> bool:
    found = pattern.search(line)
    if found is None:
        return False
    value = found.groupdict().get("value")
    return value is None or _PLACEHOLDER.search(value) is None
