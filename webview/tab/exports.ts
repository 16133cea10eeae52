import { timelineSvg } from '../../src/core/export/svg';
import { css } from '../color';
import type { MenuItem } from '../shared/menu';
import { t } from '../strings';
import { operationsOf, shownCandidate, type Store } from '../store';
import { theme } from '../theme';
import { operationsAsTsv } from '../timeline/table';

const svgWidth = 1600;

/** What the export menu offers. `tell` says in words how copying went. */
export function exportItems(store: Store, tell: (message: string) => void): readonly MenuItem[] {
  const { host } = store;
  return [
    {
      label: t('Timeline as SVG'),
      run: () => {
        const { plan } = store.state();
        if (plan === null) return;
        const candidate = shownCandidate(plan, store.view());
        if (candidate.timeline === null) return;
        const { background, foreground, dim, line, forward, backward, backwardWeight } = theme();
        const title = `${plan.request.title} · ${candidate.name}`;
        const text = timelineSvg(candidate.timeline, {
          title,
          widthPx: svgWidth,
          colors: {
            background: css(background),
            foreground: css(foreground),
            dim: css(dim),
            line: css(line),
            forward: css(forward),
            backward: css(backward),
            backwardWeight: css(backwardWeight),
          },
        });
        host.post({ type: 'save', name: `${fileName(plan.request.title)}-${candidate.id}.svg`, mime: 'image/svg+xml', text });
      },
    },
    { label: t('Plan as JSON'), run: () => host.post({ type: 'command', command: 'terapipe.exportPlan' }) },
    {
      label: t('Copy operations as table'),
      run: () => {
        const { plan } = store.state();
        const operations = plan === null ? null : operationsOf(shownCandidate(plan, store.view()));
        if (plan === null || operations === null) return;
        const text = operationsAsTsv(operations);
        navigator.clipboard.writeText(text).then(
          () => tell(t('Copied')),
          () => host.post({ type: 'save', name: `${fileName(plan.request.title)}.tsv`, mime: 'text/tab-separated-values', text }),
        );
      },
    },
  ];
}

/** A title as a file name: letters, digits, dots and dashes only, not too long. */
export function fileName(title: string): string {
  const plain = title
    .replace(/[^\p{L}\p{N}.-]+/gu, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
    .slice(0, 80);
  return plain === '' ? 'plan' : plain;
}
