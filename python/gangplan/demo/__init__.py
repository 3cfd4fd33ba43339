"""The two problems that gangplan ends, made visible. Specifications and rendering only: what runs is the product."""
