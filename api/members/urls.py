"""Routes of members and invitations under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.members import invitation_views, views

urlpatterns = [
    path("members", views.MembersView.as_view(), name="members"),
    path("members/<int:member_id>", views.MemberView.as_view(), name="member"),
    path(
        "members/<int:member_id>/transfer",
        views.TransferOwnershipView.as_view(),
        name="member-transfer",
    ),
    path("members/invitations", invitation_views.InvitationsView.as_view(), name="invitations"),
    path(
        "members/invitations/<uuid:invitation_id>",
        invitation_views.InvitationView.as_view(),
        name="invitation",
    ),
    path(
        "members/invitations/<uuid:invitation_id>/resend",
        invitation_views.ResendInvitationView.as_view(),
        name="invitation-resend",
    ),
]
