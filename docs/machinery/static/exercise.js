// Exercises: what the reader types is read as a number (with its unit, if it has one) or an expression, and compared with
// the answer at eight values of the variables. Nothing is sent anywhere, nothing is evaluated as JavaScript.
'use strict';

(() => {
  const FUNCTIONS = {
    sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos, atan: Math.atan, atan2: Math.atan2,
    sqrt: Math.sqrt, exp: Math.exp, log: Math.log, ln: Math.log, abs: Math.abs,
  };
  const CONSTANTS = { pi: Math.PI };
  // values of units for values of the metre, the kilogram and the second; an angle is a number
  const UNITS = {
    m: ({ m }) => m, cm: ({ m }) => m / 100, mm: ({ m }) => m / 1000, km: ({ m }) => 1000 * m,
    kg: ({ kg }) => kg, s: ({ s }) => s, ms: ({ s }) => s / 1000, min: ({ s }) => 60 * s,
    N: ({ m, kg, s }) => (kg * m) / s ** 2, kN: (x) => 1000 * UNITS.N(x), Nm: (x) => UNITS.N(x) * x.m, Ns: (x) => UNITS.N(x) * x.s,
    J: (x) => UNITS.Nm(x), kJ: (x) => 1000 * UNITS.Nm(x), W: (x) => UNITS.Nm(x) / x.s,
    rad: () => 1, mrad: () => 1e-3, deg: () => Math.PI / 180, degree: (x) => UNITS.deg(x), degrees: (x) => UNITS.deg(x), '°': (x) => UNITS.deg(x),
  };
  const GREEK = Object.fromEntries(
    'αalpha βbeta γgamma δdelta εepsilon ϵepsilon ζzeta ηeta θtheta ϑtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma τtau υupsilon φphi ϕphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma ΦPhi ΨPsi ΩOmega'
      .split(' ').map((word) => [word[0], word.slice(1)]),
  );
  const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹', SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉';
  const TOKEN = /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|(°|[\p{L}_][\p{L}\p{Nd}_₀-₉]*)|([⁺⁻]?[⁰¹²³⁴-⁹]+)|(\*\*|[-+*/^(),·×⋅∙−–√]))/uy;
  const LONGEST = 400; // characters of an answer

  // the text as a function of the variables' values, or without variables of the base units'; throws an Error whose message is for the reader
  function read(text, variables, units = false) {
    const tokens = tokenise(text);
    let at = 0, hasUnit = false;
    const is = (symbol) => tokens[at]?.symbol === symbol;
    const isFunction = (token) => token?.name !== undefined && !variableOf(token.name, variables) && Object.hasOwn(FUNCTIONS, token.name);
    const isFactor = (token) => token?.name !== undefined && !isFunction(token);
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
        else if (units && tokens[at]?.number === 1 && tokens[at + 1]?.symbol === '/') at += 1; // 5 1/s
        else if (tokens[at]?.number !== undefined) throw new Error('two numbers in a row: write one number with a decimal point, or a sign between them');
        else if (tokens[at]?.name !== undefined || is('(') || is('√')) { const b = power(); left = (x) => a(x) * b(x); } // 2 m q
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
      if (tokens[at]?.exponent !== undefined) { const n = tokens[at++].exponent; return (x) => base(x) ** n; }
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
      if (token.symbol === '√') { const inner = atom(); return (x) => Math.sqrt(inner(x)); }
      if (token.name === undefined) throw new Error(`'${shown(token)}' is not expected here`);
      const { name } = token, variable = variableOf(name, variables);
      if (variable) return (x) => x[variable];
      if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
      if (isFunction(token)) return applied(name);
      if (units && Object.hasOwn(UNITS, name)) { hasUnit = true; return UNITS[name]; }
      throw new Error(`'${name}' is not known here: ` + (variables.length ? `use ${variables.join(', ')}` : units ? 'type a number, and after it a unit if you like' : 'type a number'));
    }
    // the function, which was read, of what follows: sin(q), sin q, sin 2 q, sin²(q), sin^2 q
    function applied(name) {
      let n = 1;
      if (is('^')) { at += 1; n = tokens[at++]?.number; } else if (tokens[at]?.exponent !== undefined) n = tokens[at++].exponent;
      if (!(n > 0)) throw new Error(`write (${name}(…))^… for a power of ${name}, or a${name}(…) for its inverse`);
      const list = is('(') ? inBrackets() : [bare(name)];
      return (x) => FUNCTIONS[name](...list.map((f) => f(x))) ** n;
    }
    function inBrackets() {
      at += 1;
      const list = [sum()];
      while (is(',')) { at += 1; list.push(sum()); }
      expect(')');
      return list;
    }
    // an argument without brackets: a name or a number, or a number and a name; what could be read in two ways is refused
    function bare(name) {
      const sign = is('-') ? -1 : 1;
      if (is('-')) at += 1;
      const first = tokens[at];
      if (!first || (first.symbol && first.symbol !== '√')) throw new Error(`write ${name}(…)`);
      let inner = power();
      if (first.number !== undefined && isFactor(tokens[at])) { const a = inner, b = power(); inner = (x) => a(x) * b(x); }
      else if (first.number !== undefined && is('*')) throw new Error(`how far does ${name} reach? Write ${name}(…)`);
      if (isFactor(tokens[at]) || is('(') || is('/')) throw new Error(`how far does ${name} reach? Write ${name}(…)`);
      return (x) => sign * inner(x);
    }

    if (!tokens.length) throw new Error('type an answer first');
    const whole = sum();
    if (is(',')) throw new Error('write a decimal point, not a comma');
    if (at < tokens.length) throw new Error(`'${shown(tokens[at])}' is not expected here`);
    return Object.assign(whole, { hasUnit });
  }

  // m_2 is m2
  function variableOf(name, variables) {
    const plain = (text) => text.replaceAll('_', '');
    return variables.find((one) => one === name) ?? variables.find((one) => plain(one) === plain(name));
  }

  const shown = ({ symbol, name, number, text }) => symbol ?? name ?? number ?? text;

  function tokenise(typed) {
    if (typed.length > LONGEST) throw new Error(`more than ${LONGEST} characters`);
    // a dot above a letter is a rate, two dots are a rate of a rate
    const text = typed.normalize('NFD').replaceAll('\u0307', 'd').replaceAll('\u0308', 'dd').trimEnd(), tokens = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const from = TOKEN.lastIndex, found = TOKEN.exec(text);
      if (!found) throw new Error(`'${[...text.slice(from).trim()][0]}' is not understood`);
      const [, number, name, exponent, symbol] = found;
      if (number !== undefined) tokens.push({ number: Number(number) });
      else if (name !== undefined) tokens.push({ name: [...name].map((c) => GREEK[c] ?? (SUBSCRIPTS.includes(c) ? SUBSCRIPTS.indexOf(c) : c)).join('') });
      else if (exponent !== undefined) tokens.push({ text: exponent, exponent: Number([...exponent].map((c) => ({ '⁻': '-', '⁺': '+' })[c] ?? SUPERSCRIPTS.indexOf(c)).join('')) });
      else tokens.push({ symbol: { '**': '^', '·': '*', '⋅': '*', '∙': '*', '×': '*', '−': '-', '–': '-' }[symbol] ?? symbol });
    }
    return tokens;
  }

  // values between 0.3 and 1.7, the same every time; on the constraint, if the exercise has one, by Newton's method
  function samples(names, constraint = '') {
    let seed = 1;
    const draw = () => { seed = (seed * 16807) % 2147483647; return 0.3 + (1.4 * seed) / 2147483647; };
    const list = Array.from({ length: names.length ? 8 : 1 }, () => Object.fromEntries(names.map((name) => [name, draw()])));
    if (!constraint) return list;
    const [left, right] = constraint.split('=').map((side) => read(side, names)), off = (x) => left(x) - right(x), h = 1e-6;
    for (const x of list) {
      for (let k = 0; k < 30; k++) {
        const slopes = names.map((name) => (off({ ...x, [name]: x[name] + h }) - off({ ...x, [name]: x[name] - h })) / (2 * h));
        const by = off(x) / slopes.reduce((total, slope) => total + slope ** 2, 0);
        names.forEach((name, i) => (x[name] -= by * slopes[i]));
      }
    }
    return list;
  }

  // whether the answer is right, and what to say to the reader
  function judge(text, task) {
    return task.variables.length ? judgeExpression(text, task) : judgeNumber(text, task);
  }

  function judgeExpression(text, { answer, variables, tolerance, constraint }) {
    const typed = read(text, variables), right = read(answer, variables);
    const values = samples(variables, constraint).map((x) => [typed(x), right(x)]);
    requireFinite(values.map(([a]) => a));
    return { right: values.every(([a, b]) => Math.abs(a - b) <= tolerance * Math.max(Math.abs(b), 1e-9)) };
  }

  function judgeNumber(text, { answer, tolerance, digits, unit }) {
    const typed = read(text, [], Boolean(unit)), own = unit ? read(unit, [], true) : () => 1, at = samples(['m', 'kg', 's']);
    // in the exercise's unit: the same at all values of the base units if the typed one is a multiple of it
    const values = at.map((x) => typed(x) / (typed.hasUnit ? own(x) : 1)), value = values[0], right = read(answer, [])({});
    requireFinite(values);
    if (values.some((x) => Math.abs(x - value) > 1e-9 * Math.abs(value))) return { right: false, why: `the unit is ${unit}` };
    // within the tolerance, and by one in the last digit that is asked for
    const size = Math.abs(right), last = size ? 10 ** (Math.floor(Math.log10(size) + 1e-12) + 1 - digits) : Infinity;
    if (Math.abs(value - right) <= Math.min(tolerance * Math.max(size, 1e-9), last) * (1 + 1e-9)) return { right: true };
    for (let n = 2; n < digits; n++) {
      if (Math.abs(value - Number(right.toPrecision(n))) < 1e-9 * size) return { right: false, why: `give ${digits} digits` };
    }
    return { right: false };
  }

  function requireFinite(values) {
    if (!values.every(Number.isFinite)) throw new Error('its value is not a finite number');
  }

  for (const form of document.querySelectorAll('form.answer')) {
    const task = JSON.parse(form.dataset.exercise);
    const input = form.querySelector('input'), output = form.querySelector('output');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      let verdict = 'unclear', message;
      try {
        const { right, why } = judge(input.value, task);
        verdict = right ? 'right' : 'wrong';
        message = right ? 'Right.' : why ? `Not yet: ${why}.` : 'Not yet.';
      } catch (error) { message = `Not understood: ${error.message}.`; }
      form.dataset.verdict = verdict;
      output.textContent = message;
    });
    input.addEventListener('input', () => { delete form.dataset.verdict; output.textContent = ''; });
  }
})();
