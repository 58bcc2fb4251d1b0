// Exercises: what the reader types is read as a number or an expression, and compared with the answer
// at eight values of the variables. Nothing is sent anywhere, nothing is evaluated as JavaScript.
'use strict';

(() => {
  const FUNCTIONS = {
    sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos, atan: Math.atan, atan2: Math.atan2,
    sqrt: Math.sqrt, exp: Math.exp, log: Math.log, ln: Math.log, abs: Math.abs,
  };
  const CONSTANTS = { pi: Math.PI, 'π': Math.PI };
  const TOKEN = /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|(\*\*|[-+*/^(),·×−–²³]))/uy;
  const LONGEST = 400; // characters of an answer

  // the text as a function of the variables' values; throws an Error whose message is for the reader
  function read(text, variables) {
    const tokens = tokenise(text);
    let at = 0;
    const is = (symbol) => tokens[at]?.symbol === symbol;
    const expect = (symbol) => {
      if (!is(symbol)) throw new Error(`'${symbol}' is missing`);
      at += 1;
    };

    function sum() {
      let left = product();
      while (is('+') || is('-')) {
        const sign = tokens[at++].symbol === '+' ? 1 : -1, a = left, b = product();
        left = (x) => a(x) + sign * b(x);
      }
      return left;
    }
    function product() {
      let left = signed();
      for (;;) {
        const a = left;
        if (is('*')) { at += 1; const b = signed(); left = (x) => a(x) * b(x); }
        else if (is('/')) { at += 1; const b = signed(); left = (x) => a(x) / b(x); }
        else if (tokens[at]?.number !== undefined) throw new Error('two numbers in a row: write one number with a decimal point, or a sign between them');
        else if (tokens[at]?.name !== undefined || is('(')) { const b = power(); left = (x) => a(x) * b(x); } // 2 m q
        else return left;
      }
    }
    function signed() {
      if (is('-')) { at += 1; const a = signed(); return (x) => -a(x); }
      if (is('+')) { at += 1; return signed(); }
      return power();
    }
    function power() {
      const base = atom();
      if (is('²') || is('³')) { const n = tokens[at++].symbol === '²' ? 2 : 3; return (x) => base(x) ** n; }
      if (!is('^')) return base;
      at += 1;
      const exponent = signed();
      return (x) => base(x) ** exponent(x);
    }
    function atom() {
      const token = tokens[at++];
      if (!token) throw new Error('something is missing at the end');
      if (token.number !== undefined) return () => token.number;
      if (token.symbol === '(') { const inner = sum(); expect(')'); return inner; }
      if (token.symbol) throw new Error(`'${token.symbol}' is not expected here`);
      const name = variables.includes(token.name) ? token.name : token.name.replaceAll('_', ''); // m_2 is m2
      if (variables.includes(name)) return (x) => x[name];
      if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
      if (!Object.hasOwn(FUNCTIONS, name)) {
        throw new Error(`'${name}' is not known here` + (variables.length ? `: use ${variables.join(', ')}` : ': type a number'));
      }
      if (!is('(')) throw new Error(`write ${name}(…)`);
      at += 1;
      const list = [sum()];
      while (is(',')) { at += 1; list.push(sum()); }
      expect(')');
      return (x) => FUNCTIONS[name](...list.map((f) => f(x)));
    }

    if (!tokens.length) throw new Error('type an answer first');
    const whole = sum();
    if (is(',')) throw new Error('write a decimal point, not a comma');
    if (at < tokens.length) throw new Error(`'${tokens[at].symbol ?? tokens[at].name ?? tokens[at].number}' is not expected here`);
    return whole;
  }

  function tokenise(text) {
    if (text.length > LONGEST) throw new Error(`more than ${LONGEST} characters`);
    const tokens = [];
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const from = TOKEN.lastIndex, found = TOKEN.exec(text);
      if (!found) throw new Error(`'${text.slice(from).trim()[0]}' is not understood`);
      const [, number, name, symbol] = found;
      if (number !== undefined) tokens.push({ number: Number(number) });
      else if (name !== undefined) tokens.push({ name });
      else tokens.push({ symbol: { '**': '^', '·': '*', '×': '*', '−': '-', '–': '-' }[symbol] ?? symbol });
    }
    return tokens;
  }

  // values between 0.3 and 1.7, the same every time
  function samples(variables) {
    let seed = 1;
    const draw = () => { seed = (seed * 16807) % 2147483647; return 0.3 + (1.4 * seed) / 2147483647; };
    return Array.from({ length: variables.length ? 8 : 1 }, () => Object.fromEntries(variables.map((name) => [name, draw()])));
  }

  function isRight(text, { answer, variables, tolerance }) {
    const typed = read(text, variables), right = read(answer, variables);
    const values = samples(variables).map((x) => [typed(x), right(x)]);
    if (!values.every(([a]) => Number.isFinite(a))) throw new Error('its value is not a finite number');
    return values.every(([a, b]) => Math.abs(a - b) <= tolerance * Math.max(Math.abs(b), 1e-9));
  }

  for (const form of document.querySelectorAll('form.answer')) {
    const task = JSON.parse(form.dataset.exercise);
    const input = form.querySelector('input'), output = form.querySelector('output');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      let verdict = 'unclear', message;
      try {
        verdict = isRight(input.value, task) ? 'right' : 'wrong';
        message = verdict === 'right' ? 'Right.' : 'Not yet.';
      } catch (error) { message = `Not understood: ${error.message}.`; }
      form.dataset.verdict = verdict;
      output.textContent = message;
    });
    input.addEventListener('input', () => { delete form.dataset.verdict; output.textContent = ''; });
  }
})();
