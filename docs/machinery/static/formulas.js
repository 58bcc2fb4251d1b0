// Formulas within a line that are wider than their line, on a phone, scroll in themselves.
'use strict';

window.addEventListener('load', () => {
  const formulas = [...document.querySelectorAll('span.math')].filter((formula) => !formula.closest('table'));
  const fit = () => {
    for (const formula of formulas) formula.classList.remove('wide');
    const widths = formulas.map((formula) => [formula.getBoundingClientRect().width, formula.parentElement.closest('p, li, dd, div, h1, h2, h3').clientWidth]);
    widths.forEach(([own, room], k) => formulas[k].classList.toggle('wide', own > room));
  };
  Promise.resolve(window.MathJax?.startup?.promise).then(() => {
    fit();
    window.addEventListener('resize', fit);
  });
});
