// What the theme leaves to be done for the keyboard and for screen readers.
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((one) => { one.tabIndex = 0; }); // wide tables scroll
  document.querySelectorAll(".md-search[role=dialog]").forEach((one) => { one.ariaLabel = "Search"; });
});
