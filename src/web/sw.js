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
  if (event.request.method === 'GET')
    event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((kept) => kept ?? fetch(event.request)));
});
