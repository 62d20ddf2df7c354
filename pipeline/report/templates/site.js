// Draws each .figure element from the JSON that it holds.
"use strict";
for (const element of document.querySelectorAll(".figure")) {
  const figure = JSON.parse(element.querySelector("script").textContent);
  const isSmall = element.classList.contains("small");
  if (isSmall) {
    delete figure.layout.title;
    Object.assign(figure.layout, { height: 280, showlegend: false, margin: { l: 50, r: 10, t: 10, b: 40 } });
    for (const trace of figure.data) delete trace.text, delete trace.texttemplate;
    if (figure.data.every((trace) => trace.type === "bar")) delete figure.layout.annotations;  // the bars' values
    if (figure.data.some((trace) => trace.type === "heatmap")) figure.layout.xaxis = { showticklabels: false };
  }
  Plotly.newPlot(element, figure.data, figure.layout, { responsive: true, displaylogo: false, staticPlot: isSmall });
}
window.MathJax = {
  jax: ["input/TeX", "output/HTML-CSS"],
  tex2jax: { inlineMath: [["$", "$"]], processEscapes: true, ignoreClass: "figure|dataframe" },
  "HTML-CSS": {
    availableFonts: [],
    webFont: "STIX-Web",
    imageFont: null,
    // MathJax's own empty font is about:blank, which browsers refuse with an error.
    styles: { "@font-face": { "font-family": "MathJax_Blank", src: "local('sans-serif')" } },
  },
  showMathMenu: false,
  messageStyle: "none",
};
// Code is there for who wants it: folded under a line that says so.
for (const input of document.querySelectorAll(".notebook .jp-InputArea, .notebook .input")) {
  const details = document.createElement("details");
  details.innerHTML = "<summary>code</summary>";
  input.replaceWith(details);
  details.append(input);
}
