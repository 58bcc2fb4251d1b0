// Frames of live pages follow the theme that the reader chose for this page: light, dark, or the system's.
'use strict';

(() => {
  const frames = document.querySelectorAll('iframe.live');
  const theme = () => ({ light: 'light', dark: 'dark' })[document.body.dataset.theme] ?? '';
  const send = (frame) => frame.contentWindow?.postMessage({ sixd: theme() }, '*');
  for (const frame of frames) frame.addEventListener('load', () => send(frame));
  new MutationObserver(() => frames.forEach(send)).observe(document.body, { attributeFilter: ['data-theme'] });
})();
