import { rankPeers, placeRanks, type PlacedRank, type RankGroup } from '../../../src/core/cluster/rank-groups';
import { formatCount, formatDuration, formatPercent, plural } from '../../../src/core/format';
import { joinedGpus } from '../../../src/core/domain/cluster';
import { type RankOrder, resolveRankOrder } from '../../../src/core/domain/runtime';
import type { Plan } from '../../../src/core/planner/plan';
import { fill, h } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { groupLoads, groupKinds, peerLinks, linksOfKind, nodeLoads, type GroupLoad, type LinkClass } from './rank-loads';
import { gpusUsed } from '../../../src/core/domain/request';
import { maximum } from '../../../src/core/numbers';

/** Ranks of a larger cluster are not drawn one by one, nor more nodes than these. */
const mostRanks = 16_384;
const mostNodes = 48;

/** Hues that distinguish neighbouring groups. */
const hues = 6;

interface Placed {
  readonly plan: Plan;
  readonly ranks: readonly PlacedRank[];
  readonly kinds: readonly RankGroup[];
  readonly loads: readonly GroupLoad[];
  readonly ofNodes: ReturnType<typeof nodeLoads>;
}

/** What each GPU of each node holds: the groups of each kind of parallelism over the cluster, and how much their links carry. */
export function makeRankView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  let placed: Placed | null = null;
  let shown: { kind: RankGroup; rank: number } = { kind: 'tensor', rank: 0 };
  const choices = h('div', { class: 'rank-choices', role: 'group', 'aria-label': t('Groups') });
  const grid = h('table', { class: 'rank-grid', role: 'grid', tabindex: 0, 'aria-label': t('GPUs of every node') });
  const detail = h('div', { class: 'rank-detail', 'aria-live': 'polite' });
  const links = h('table', { class: 'rank-links' });
  const more = h('p', { class: 'hint' });
  const order = h('p', { class: 'hint' });
  const element = h(
    'section',
    { class: 'rank-view' },
    h('h2', {}, t('Where ranks run')),
    order,
    choices,
    h('div', { class: 'rank-middle' }, h('div', { class: 'rank-scroll' }, grid, more), h('div', { class: 'rank-side' }, detail, links)),
  );
  const redraw = (): void => {
    if (placed === null) return;
    const { kinds, ranks } = placed;
    const rank = ranks[shown.rank] ?? ranks[0];
    if (rank === undefined) return;
    const { kind } = shown;
    const peers = rankPeers(ranks, rank, kind);
    fill(choices, ...kinds.map((each) => kindButton(each, each === kind, () => pick({ kind: each }))));
    fill(grid, ...rankGrid(placed, kind, rank, new Set(peers.map((peer) => peer.rank))));
    fill(detail, ...rankDetail(placed, rank));
    fill(links, ...linkTable(placed));
  };
  const pick = (change: Partial<typeof shown>): void => {
    shown = { ...shown, ...change };
    redraw();
  };
  grid.addEventListener('click', (event) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-rank]') : null;
    if (cell !== null) pick({ rank: Number(cell.dataset['rank']) });
  });
  grid.addEventListener('keydown', (event) => {
    const rank = placed?.ranks[shown.rank];
    if (placed === null || rank === undefined) return;
    const next = nextInGrid(placed.ranks, rank, event.key);
    if (next === null || !placed.ofNodes.has(next.node)) return;
    event.preventDefault();
    event.stopPropagation();
    pick({ rank: next.rank });
    grid.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return {
    element,
    update: () => {
      const { plan } = store.state();
      element.hidden = plan === null;
      if (plan === null || placed?.plan === plan) return;
      placed = placePlan(plan);
      element.hidden = placed === null;
      if (placed === null) return;
      const { kinds, ranks, ofNodes } = placed;
      order.textContent = t('Order of ranks: {0}', shownRankOrder(plan));
      shown = { kind: kinds.includes(shown.kind) ? shown.kind : (kinds[0] ?? 'tensor'), rank: Math.min(shown.rank, ranks.length - 1) };
      const hidden = new Set(ranks.map(({ node }) => node)).size - ofNodes.size;
      more.hidden = hidden <= 0;
      more.textContent = t('{0} more nodes', formatCount(Math.max(0, hidden)));
      redraw();
    },
  };
}

/** On groups of nodes each stage takes the next GPUs of its group. */
function shownRankOrder({ request }: Plan): RankOrder {
  return request.cluster.groups === undefined ? resolveRankOrder(request) : 'tp-cp-ep-dp-pp';
}

function placePlan(plan: Plan): Placed | null {
  const { layout, cluster } = plan.request;
  const count = gpusUsed(layout);
  const kinds = groupKinds(plan);
  if (count > mostRanks || kinds.length === 0) return null;
  const ranks = placeRanks(layout, cluster, shownRankOrder(plan));
  const loads = groupLoads(plan);
  return { plan, ranks, kinds, loads, ofNodes: nodeLoads(ranks, loads, mostNodes) };
}

/** The neighbour of a rank in the grid; null at its edges and for other keys. */
function nextInGrid(ranks: readonly PlacedRank[], { node, gpu }: PlacedRank, key: string): PlacedRank | null {
  const by = new Map([
    ['ArrowLeft', [0, -1]],
    ['ArrowRight', [0, 1]],
    ['ArrowUp', [-1, 0]],
    ['ArrowDown', [1, 0]],
  ]).get(key);
  const [down = 0, right = 0] = by ?? [];
  if (by === undefined) return null;
  return ranks.find((rank) => rank.node === node + down && rank.gpu === gpu + right) ?? null;
}

function kindName(kind: RankGroup): string {
  const names: Readonly<Record<RankGroup, string>> = {
    tensor: t('Tensor'),
    context: t('Context'),
    expert: t('Expert'),
    pipeline: t('Pipeline'),
    data: t('Data'),
  };
  return names[kind];
}

const shortNames: Readonly<Record<RankGroup, string>> = { tensor: 'TP', context: 'CP', expert: 'EP', pipeline: 'PP', data: 'DP' };

function kindButton(kind: RankGroup, isOn: boolean, onClick: () => void): HTMLElement {
  return h(
    'button',
    { class: 'legend-choice', type: 'button', 'aria-pressed': String(isOn), 'data-focus': `rank-${kind}`, onclick: onClick },
    kindName(kind),
  );
}

function rankGrid({ ranks, ofNodes, loads }: Placed, kind: RankGroup, picked: PlacedRank, peers: ReadonlySet<number>): HTMLElement[] {
  const nodes = [...ofNodes.keys()];
  const byNode = new Map(nodes.map((node) => [node, [] as PlacedRank[]]));
  for (const rank of ranks) byNode.get(rank.node)?.push(rank);
  const widest = maximum([...byNode.values()].map((own) => maximum(own.map(({ gpu }) => gpu + 1))));
  const heaviest = Math.max(maximum(loads.map(({ share }) => share ?? 0)), 1e-9);
  const header = (text: string, about: string | null = null, className = ''): HTMLElement =>
    h('th', { scope: 'col', title: about, class: className }, text);
  return [
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        header(t('Node')),
        ...Array.from({ length: widest }, (_, gpu) => header(String(gpu), t('GPU {0}', gpu))),
        header(t('In the node'), t('Share of the step spent communicating inside the node, over NVLink or PCIe'), 'rank-load'),
        header(t('Network'), t('Share of the step spent communicating with other nodes'), 'rank-load'),
      ),
    ),
    h(
      'tbody',
      {},
      ...nodes.map((node) => {
        const own = byNode.get(node) ?? [];
        const load = ofNodes.get(node) ?? { node: null, network: null };
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, String(node)),
          ...Array.from({ length: widest }, (_, gpu) => cell(own.find((rank) => rank.gpu === gpu) ?? null, kind, picked, peers)),
          loadCell(load.node, heaviest),
          loadCell(load.network, heaviest),
        );
      }),
    ),
  ];
}

function cell(rank: PlacedRank | null, kind: RankGroup, picked: PlacedRank, peers: ReadonlySet<number>): HTMLElement {
  if (rank === null) return h('td', { class: 'rank-idle', 'aria-label': t('Idle') });
  const isPicked = rank.rank === picked.rank;
  const isPeer = peers.has(rank.rank);
  const group = kind === 'pipeline' ? rank.places.pipeline : rank.groups[kind];
  return h(
    'td',
    {
      class: `rank-cell rank-hue-${group % hues}${isPicked ? ' rank-picked' : isPeer ? ' rank-peer' : ''}`,
      'data-rank': rank.rank,
      'aria-selected': String(isPicked),
      title: placesText(rank),
    },
    String(rank.places[kind]),
  );
}

function loadCell(share: number | null, heaviest: number): HTMLElement {
  const level = share === null ? 0 : Math.min(4, Math.ceil((4 * share) / heaviest));
  return h('td', { class: `numeric rank-load rank-load-${level}` }, share === null ? '–' : formatPercent(share));
}

/** `rank 37, stage 9, TP 1, DP 0`. */
function placesText({ rank, places }: PlacedRank): string {
  return t('Rank {0}, stage {1}, TP {2}, DP {3}', formatCount(rank), places.pipeline, places.tensor, places.data);
}

function rankDetail({ ranks, kinds }: Placed, rank: PlacedRank): HTMLElement[] {
  const pairs = kinds.map((kind): readonly [string, string] => {
    const peers = rankPeers(ranks, rank, kind);
    const names = [rank, ...peers].map((one) => one.rank).sort((a, b) => a - b);
    const links = linksText(peerLinks(rank, peers));
    return [
      `${shortNames[kind]} ${rank.places[kind]}`,
      kind === 'pipeline'
        ? t('to and from {0}, {1}', listText(peers.map((one) => one.rank)), links)
        : t('ranks {0}, {1}', listText(names), links),
    ];
  });
  return [
    h('h3', {}, t('Rank {0}: node {1}, GPU {2}', formatCount(rank.rank), formatCount(rank.node), rank.gpu)),
    h('dl', { class: 'pairs' }, ...pairs.map(([name, value]) => h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value)))),
  ];
}

/** `0-3`, `5, 21`, `0, 8, ..., 56`. */
function listText(ranks: readonly number[]): string {
  const [first = 0, second = first] = ranks;
  const last = ranks.at(-1) ?? first;
  const isRun = ranks.length > 2 && last - first === ranks.length - 1;
  if (isRun) return `${formatCount(first)}–${formatCount(last)}`;
  return ranks.length <= 4 ? ranks.map(formatCount).join(', ') : `${formatCount(first)}, ${formatCount(second)}, …, ${formatCount(last)}`;
}

function linksText(links: ReadonlySet<LinkClass>): string {
  if (links.size === 2) return t('in the node and over the network');
  return links.has('network') ? t('over the network') : t('in the node');
}

function linkTable({ plan, ranks, loads }: Placed): HTMLElement[] {
  const heaviest = Math.max(maximum(loads.map(({ share }) => share ?? 0)), 1e-9);
  const joined = joinedGpus(plan.request.cluster);
  const rows = loads.map(({ kinds, ms, share }) => {
    const links = new Set(kinds.flatMap((kind) => [...linksOfKind(ranks, kind)]));
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, kinds.map((kind) => `${shortNames[kind]} ${plan.request.layout[kind]}`).join(', ')),
      h('td', {}, linksText(links)),
      h('td', { class: 'numeric' }, ms === null ? '–' : formatDuration(ms)),
      loadCell(share, heaviest),
    );
  });
  return [
    h(
      'caption',
      {},
      t(
        'Communication share of a step by group, mean of all stages; {0} connect without the network.',
        plural(joined, t('GPU'), t('GPUs')),
      ),
    ),
    h('thead', {}, h('tr', {}, ...[t('Groups'), t('Links'), t('Time'), t('Of the step')].map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, ...rows),
  ];
}
