"""The bundled demo sample: constructed items and labels, and the rule judge that is examined on them."""
