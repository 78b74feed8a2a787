// The theme of the API's description: the console's choice, else the system's.
// No module: it runs before the page is drawn, so that a dark page is never white first.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const [, theme] = document.cookie.match(/(?:^|; )punctual_theme=(\w+)/) || [];
    const isDark = theme === "dark" || (theme !== "light" && dark.matches);
    document.documentElement.classList.toggle("dark-mode", isDark);
  };
  draw();
  dark.addEventListener("change", draw);
})();
