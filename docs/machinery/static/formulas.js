// Formulas within a line that are wider than their line, on a phone, scroll in themselves; a full stop stays next to its formula.
'use strict';

window.addEventListener('load', () => {
  const formulas = [...document.querySelectorAll('span.math')].filter((formula) => !formula.closest('table'));
  const fit = () => {
    for (const formula of formulas) formula.classList.remove('wide');
    const widths = formulas.map((formula) => [formula.getBoundingClientRect().width, formula.parentElement.closest('p, li, dd, div, h1, h2, h3').clientWidth]);
    widths.forEach(([own, room], k) => formulas[k].classList.toggle('wide', own > room));
  };
  const join = (formula) => { // with the marks that follow it
    const text = formula.nextSibling, marks = text?.nodeType === Node.TEXT_NODE && text.data.match(/^[.,:;!?)\]]+/)?.[0];
    if (!marks) return;
    const line = document.createElement('span');
    line.className = 'joined';
    formula.replaceWith(line);
    line.append(formula, marks);
    text.deleteData(0, marks.length);
  };
  Promise.resolve(window.MathJax?.startup?.promise).then(() => {
    formulas.forEach(join);
    fit();
    window.addEventListener('resize', fit);
  });
});
