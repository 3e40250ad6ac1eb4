"""The public validator on crates, offline: contexts come from a file, anything else is refused.

    python validate_crates.py CONTEXTS PROFILE CRATE...

Prints a JSON object: crate -> what it finds wrong. In a process of its own, as the validator
patches libraries when it is imported.
"""

import json
import sys
from pathlib import Path

from requests import Response
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.utils.http import HttpRequester

contexts = json.loads(Path(sys.argv[1]).read_text())


def cached(_requester: HttpRequester, url: str, **_how: object) -> Response:
    """Answer for the network."""
    answer = Response()
    answer.url, answer.status_code = url, 200 if url in contexts else 504
    answer.headers["Content-Type"] = "application/ld+json"
    answer._content = json.dumps({"@context": contexts.get(url)}).encode()
    return answer


HttpRequester.get = cached  # type: ignore[attr-defined]
found = {}
for crate in sys.argv[3:]:
    settings = ValidationSettings(
        rocrate_uri=crate,
        profile_identifier=sys.argv[2],
        requirement_severity=Severity.REQUIRED,
        offline=True,
        cache_path=str(Path(crate).parent / "http-cache"),
    )
    result = services.validate(settings)
    found[crate] = sorted({issue.message for issue in result.get_issues()})
print("\n" + json.dumps(found))
