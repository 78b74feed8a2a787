"""The mute of one alert by one member."""

from __future__ import annotations

from django.db import models

from notifications.models.alert import Alert


class AlertMute(models.Model):
    """A member gets no notice of this alert until ``until``; other members still do."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="mutes")
    membership = models.ForeignKey("tenants.Membership", on_delete=models.CASCADE, related_name="+")
    until = models.DateTimeField()

    class Meta:
        db_table = "alert_mutes"
        constraints = [
            models.UniqueConstraint(
                fields=["alert", "membership"], name="one_mute_per_alert_and_member"
            )
        ]

    def __str__(self) -> str:
        return f"{self.alert_id} until {self.until}"
