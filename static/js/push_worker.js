// The service worker of push messages: shows them, and opens their page when they are clicked.

self.addEventListener("push", (event) => {
  const message = event.data ? event.data.json() : {};
  event.waitUntil(
    self.registration.showNotification(message.title || "Punctual", {
      body: message.body || "",
      tag: message.tag || "punctual",
      icon: "/static/favicon.svg",
      data: { url: message.url || "/alerts" },
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const wanted = new URL(event.notification.data.url, self.location.origin);
  const url = wanted.origin === self.location.origin ? wanted.href : self.location.origin;
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((pages) => {
      const open = pages.find((page) => page.url === url);
      return open ? open.focus() : self.clients.openWindow(url);
    }),
  );
});
