"""Values are checked against the part of JSON Schema that is used, and errors name what is wrong."""

import pytest

from rankloom.web.json_schema import check
from rankloom.web.limits import RefusedError

SCHEMA = {
    "type": "object",
    "properties": {
        "k": {"type": "integer", "minimum": 1, "maximum": 9},
        "text": {"type": "string", "minLength": 1, "maxLength": 3},
        "names": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "share": {"type": "number"},
        "where": {"type": "object", "$ref": "#/components/schemas/Where"},
        "any": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "boolean"}},
    },
}


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"k": 1, "text": "abc", "names": ["a", "b"], "share": 0.5, "any": {"x": True}},
        {"share": 3},
        {"where": {"anything": [{}]}},
    ],
)
def test_values_that_fit_pass(value):
    check(value, SCHEMA, "body")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "body: must be an object; got []."),
        ({"k": 0}, "k: must be at least 1; got 0."),
        ({"k": 10}, "k: must be at most 9; got 10."),
        ({"k": True}, "k: must be a whole number; got True."),
        ({"k": 1.0}, "k: must be a whole number; got 1.0."),
        ({"text": ""}, "text: must have 1 to 3 characters; got 0."),
        ({"text": "abcd"}, "text: must have 1 to 3 characters; got 4."),
        ({"names": []}, "names: must have 1 to 2 entries; got 0."),
        ({"names": ["a", 3]}, "names: must be text; got 3."),
        ({"share": "x"}, "share: must be a number; got 'x'."),
        ({"where": []}, "where: must be an object; got []."),
        ({"any": {"x": 1}}, "any: must be true or false; got 1."),
        ({"any": {"x": True, "y": True}}, "any: must have 0 to 1 entries; got 2."),
        ({"kk": 1}, "Unknown key 'kk'; choose from any, k, names, share, text, where. Did you mean 'k'?"),
    ],
)
def test_errors_say_what_is_wrong(value, message):
    with pytest.raises(RefusedError) as caught:
        check(value, SCHEMA, "body")
    assert (caught.value.status, caught.value.error) == (422, message)
