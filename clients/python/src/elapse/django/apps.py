"""The application `elapse.django`."""

from __future__ import annotations

from django.apps import AppConfig


class ElapseConfig(AppConfig):
    """Its label is not that of Django."""

    name = "elapse.django"
    label = "elapse"
    verbose_name = "Elapse"
