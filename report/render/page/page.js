"use strict";
// What the page does without a timeline: it opens what is folded around the place that a
// link leads to, shows a plot as large as the window, and unfolds all for a printer.
(() => {
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  reveal();
  const large = document.getElementById("large");
  for (const button of document.querySelectorAll("button.enlarge")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      large.querySelector("div").replaceChildren(button.closest("figure").querySelector("svg").cloneNode(true));
      large.showModal();
    });
  }
  large.addEventListener("click", (e) => { if (e.target === large) large.close(); });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
