"""Signing in and out, and the choice of the tenant."""

from __future__ import annotations

from django.contrib.auth import logout as end_session
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.throttle import forget_failures, is_refused, note_failure
from shared.client_address import counted_address
from shared.exceptions import NotFound
from tenants.choices import Role


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The login page of console and admin; guessing is slowed down."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Refuse a login that has failed too often without checking it."""
        if is_refused(*self._subject()):
            form = self.get_form()
            context = self.get_context_data(form=form, refused=True)
            return self.render_to_response(context, status=429, headers={"Retry-After": "300"})
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in and forget the account's failures from this address."""
        forget_failures(*self._subject())
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Count the failure and show the form again."""
        note_failure(*self._subject())
        return super().form_invalid(form)

    def _subject(self) -> tuple[str, str]:
        # As the form reads the name: blanks around it and other forms of its letters count as one.
        field = self.get_form().fields["username"]
        name = str(field.to_python(self.request.POST.get("username", "")))
        return name.casefold(), counted_address(self.request)


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
