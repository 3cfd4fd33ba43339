"""What people read: why a gang waits, figures, and one self-contained page.

``explanation``, ``wording`` and ``markdown`` need nothing but the base install; ``figures`` needs matplotlib and
``page`` needs Jinja2 (extra ``report``), so each is imported where it is used.
"""
