"use strict";
// The page without a timeline: expands the elements around the target of a link, enlarges plots,
// and expands everything for printing.
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
