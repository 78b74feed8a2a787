// The values that the server needs before it draws a page: theme, zone, clock.

export function remember(name, value) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

// The token of forms; its cookie has a prefix where cookies are secure.
export function formToken() {
  return recall("__Host-csrftoken") || recall("csrftoken");
}

export function recall(name) {
  const found = document.cookie.split("; ").find((one) => one.startsWith(`${name}=`));
  return found ? found.slice(name.length + 1) : "";
}
