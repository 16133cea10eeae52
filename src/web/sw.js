// Keeps the page for when there is no network: its own files and nothing else. VERSION and FILES are filled in by web.mjs.
const name = 'terapipe-VERSION';
const files = FILES;

self.addEventListener('install', (event) => event.waitUntil(caches.open(name).then((cache) => cache.addAll(files))));
self.addEventListener('activate', (event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(names.filter((each) => each.startsWith('terapipe-') && each !== name).map((each) => caches.delete(each))),
      ),
  ),
);
self.addEventListener('fetch', (event) => {
  if (event.request.method === 'GET') event.respondWith(answer(event.request));
});

async function answer(request) {
  const kept = await caches.match(request, { ignoreSearch: true });
  if (kept === undefined) return fetch(request);
  return request.mode === 'navigate' ? isolated(kept) : kept;
}

/** The page apart from other sites, so that it may share memory with its workers: hosts of static files seldom let one set these headers. */
function isolated({ body, status, statusText, headers: given }) {
  const headers = new Headers(given);
  headers.set('cross-origin-opener-policy', 'same-origin');
  headers.set('cross-origin-embedder-policy', 'require-corp');
  return new Response(body, { status, statusText, headers });
}
