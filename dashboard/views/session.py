"""Signing in and out, and the choice of the tenant."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth import logout as end_session
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, RedirectURLMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django.views.generic import View

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.oidc.providers import shown_providers
from dashboard.pending_sign_in import complete, pending_user, sign_in
from dashboard.throttle import CODE, account_name, forget_failures, is_refused, note_failure
from shared.client_address import counted_address
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, InvalidInput, NotFound
from shared.request_actor import actor_of
from tenants.choices import Role
from tenants.services.provider_sign_in import refuses_password
from tenants.services.second_factors import take_code

_WAIT = "Too many wrong codes. Wait five minutes."


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The login page of console and admin; guessing is slowed down."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **given: Any) -> dict[str, Any]:
        """Add the providers that people sign in by, too."""
        context: dict[str, Any] = super().get_context_data(**given)
        context["providers"] = shown_providers(self.get_redirect_url())
        return context

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Refuse a login that has failed too often without checking it."""
        if is_refused(*self._subject()):
            form = self.get_form()
            context = self.get_context_data(form=form, refused=True)
            return self.render_to_response(context, status=429, headers={"Retry-After": "300"})
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Forget the account's failures from this address, and sign in or ask for a code.

        Refuse a person all of whose tenants want a provider.
        """
        forget_failures(*self._subject())
        if refuses_password(form.get_user()):
            context = self.get_context_data(form=form, by_provider=True)
            return self.render_to_response(context)
        if sign_in(self.request, form.get_user()):
            return redirect(self.get_success_url())
        return ask_for_code(self.get_success_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Count the failure and show the form again."""
        note_failure(*self._subject())
        return super().form_invalid(form)

    def _subject(self) -> tuple[str, str]:
        return account_name(self.request.POST.get("username", "")), counted_address(self.request)


@method_decorator(never_cache, name="dispatch")
class SignInCode(RedirectURLMixin, View):
    """The second step of a sign-in: a code of the app, or a recovery code."""

    next_page = "dashboard:overview"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the form, to a person who has given the password."""
        if pending_user(request) is None:
            return redirect("dashboard:login")
        return self._form()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Sign in where the code is right; each code works once."""
        user = pending_user(request)
        if user is None:
            return redirect("dashboard:login")
        subject = (str(user.pk), counted_address(request), CODE)
        if is_refused(*subject):
            return self._form(_WAIT, 429)
        code = request.POST.get("code", "")
        try:
            taken = take_code(user.pk, code, actor=actor_of(request, f"user:{user.pk}"))
        except InvalidInput as error:
            return self._form(error.message, 429)
        except DecryptionFailed as error:
            return self._form(error.message, error.status)
        if not taken:
            note_failure(*subject)
            return self._form("That code is wrong, or was used already.", 200)
        forget_failures(*subject)
        try:
            complete(request, user)
        except Conflict as error:
            messages.error(request, error.message)
            return redirect("dashboard:login")
        return redirect(self.get_success_url())

    def _form(self, problem: str = "", status: int = 200) -> HttpResponse:
        context = {"problem": problem, "next": self.get_redirect_url()}
        headers = {"Retry-After": "300"} if status == 429 else None
        answer = render(self.request, "dashboard/login_code.html", context, status=status)
        for name, value in (headers or {}).items():
            answer[name] = value
        return answer


def ask_for_code(place: str = "") -> HttpResponse:
    """Lead to the form of the code, and from there to the place."""
    url = reverse("dashboard:login_code")
    return redirect(f"{url}?{urlencode({'next': place})}" if place else url)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    end_session(request)
    return redirect("dashboard:login")


@action(Role.VIEWER)
def choose_tenant(request: ConsoleRequest) -> Done:
    """Show another of the visitor's tenants from now on."""
    wanted = request.POST.get("tenant", "")
    chosen = [one for one in request.visitor.memberships if str(one.tenant_id) == wanted]
    if not chosen:
        raise NotFound("You are not a member of that tenant.")
    request.session["tenant_id"] = wanted
    return Done(f"You now see {chosen[0].tenant.name}.", reverse("dashboard:overview"))


@page(Role.VIEWER)
def pulse(request: ConsoleRequest) -> HttpResponse:
    """Answer 204 to a page that checks whether server, database and session work."""
    return HttpResponse(status=204)
