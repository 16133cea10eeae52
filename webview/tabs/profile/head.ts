import { formatBytes, formatCount, formatDuration, formatNumber, plural } from '../../../src/core/format';
import type { FitError, LaunchFloor, Profile } from '../../../src/core/domain/profile';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import { goalPercent } from './content';
import type { Direction } from './points';
import { attentionText, methodSentence, providerName, sampleCount, whenText } from './labels';
import { percentText } from '../../charts/ticks';

/** What the header shows of a profile in addition to its content. */
interface HeadOptions {
  /** `used` by the plan on screen, measured right now, or neither. */
  readonly status: 'used' | 'measuring' | 'other';
  readonly onShowFile: (() => void) | null;
}

/** Device, how and when it was measured, and how good the fit is. */
export function profileHead(profile: Profile, { status, onShowFile }: HeadOptions): HTMLElement {
  const { device, provider, precision, source } = profile;
  const tags = [
    status === 'used' ? t('used by this plan') : status === 'measuring' ? t('measuring') : null,
    source === 'imported' ? t('imported') : null,
    source === 'pytorch' ? 'PyTorch' : null,
    device.kind === 'software' ? t('software adapter') : device.kind === 'cpu' && source !== 'imported' ? t('no GPU') : null,
    profile.status === 'partial' && status !== 'measuring' ? t('partial') : null,
  ].filter((tag) => tag !== null);
  const how = [provider === null ? '' : providerName(provider), precision, attentionText(profile), whenText(profile.measuredAt)].filter(
    (part) => part !== '',
  );
  return h(
    'div',
    { class: 'profile-device' },
    h(
      'div',
      { class: 'profile-name' },
      h('h2', {}, h('span', { class: 'profile-device-name', title: device.name }, device.name)),
      ...tags.map((tag) => h('span', { class: 'tag' }, tag)),
    ),
    h(
      'p',
      { class: 'setting' },
      ...how.map((part) => h('span', {}, part)),
      onShowFile === null
        ? null
        : h('span', {}, h('button', { class: 'link', type: 'button', 'data-focus': 'show-profile', onclick: onShowFile }, t('Show file'))),
    ),
  );
}

/** Mean and worst error of both passes, samples and the time they took, as large numbers. */
export function profileFigures(profile: Profile): HTMLElement {
  const { errors } = profile;
  const seconds = profile.seconds * 1000;
  return h(
    'dl',
    { class: 'figures profile-figures' },
    ...errorFigures('forward', errors?.forward ?? null),
    ...errorFigures('backward', errors?.backward ?? null),
    figure(formatCount(sampleCount(profile)), '', t('samples'), samplesTitle(profile), null),
    profile.source === 'imported' ? null : figure(...split(formatDuration(seconds)), t('measuring time'), null, null),
  );
}

function samplesTitle({ samples }: Profile): string {
  return t('Layer {0}, embedding {1}, head {2}', samples.layer.length, samples.embedding.length, samples.head.length);
}

function errorFigures(direction: Direction, error: FitError | null): HTMLElement[] {
  const isForward = direction === 'forward';
  const title = error === null ? t('Not known before there is a fit') : methodSentence(error);
  const value = (percent: number | undefined): readonly [string, string] =>
    percent === undefined ? ['–', ''] : split(percentText(percent));
  const over = error !== null && error.meanPercent > goalPercent;
  return [
    figure(
      ...value(error?.meanPercent),
      isForward ? t('forward, mean error') : t('backward, mean error'),
      over ? `${title}\n${t('The goal is {0}', percentText(goalPercent))}` : title,
      direction,
      over,
    ),
    figure(...value(error?.maxPercent), isForward ? t('forward, worst') : t('backward, worst'), title, null),
  ];
}

function split(text: string): readonly [value: string, unit: string] {
  const [value = '', unit = ''] = text.split(' ');
  return [value, unit];
}

function figure(value: string, unit: string, name: string, title: string | null, tone: Direction | null, isWarning = false): HTMLElement {
  return h(
    'div',
    { class: `figure figure-${isWarning ? 'warning' : 'plain'}`, title, tabindex: title === null ? null : 0 },
    h('dt', { class: tone === null ? null : `profile-tone kind-${tone}` }, name),
    h('dd', {}, h('span', { class: 'figure-value' }, value), unit === '' ? null : h('span', { class: 'figure-unit' }, ` ${unit}`)),
  );
}

/** Everything else that a profile records, folded away. */
export function profileDetails(profile: Profile): HTMLElement {
  const { shape, device } = profile;
  const heads = shape.kvHeads === shape.heads ? formatCount(shape.heads) : t('{0}, {1} for keys and values', shape.heads, shape.kvHeads);
  const rows: readonly (readonly [string, string | null])[] = [
    [t('Model'), profile.title === '' ? null : profile.title],
    [t('Tensor parallel'), formatCount(profile.tensor)],
    [t('Hidden'), formatCount(shape.hidden)],
    [t('Heads'), t('{0} of {1}', heads, formatCount(shape.headDim))],
    [t('Feed-forward'), formatCount(shape.ffn)],
    [t('Experts'), shape.experts === null ? null : t('{0}, {1} active', shape.experts.count, shape.experts.active)],
    [t('Longest sequence'), formatCount(profile.sequenceLength)],
    [t('Largest batch'), formatCount(profile.largestBatch)],
    [t('Two layers over one'), profile.twoLayerRatio === null ? null : `${formatNumber(profile.twoLayerRatio)}x`],
    [t('Device memory'), device.memoryBytes === null ? null : formatBytes(device.memoryBytes)],
    [t('Driver'), device.driver],
    [t('TF32 for fp32'), profile.tf32 === null ? null : profile.tf32 ? t('on') : t('off')],
    [t('Launches'), profile.launches === null ? null : launchText(profile.launches)],
    [t('Threads'), profile.threads === null ? null : formatCount(profile.threads)],
    ...Object.entries(profile.versions).map(([name, version]) => [name, version] as const),
    ...skippedRows(profile),
  ];
  return h(
    'dl',
    { class: 'pairs profile-pairs' },
    ...rows.flatMap(([name, value]) => (value === null ? [] : [h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value))])),
  );
}

function launchText({ perNodeUs, perProductUs, forwardMs, backwardMs }: LaunchFloor): string {
  return t(
    '{0} µs a node, {1} µs a product: {2} of each slice forward, {3} backward',
    formatNumber(perNodeUs),
    formatNumber(perProductUs),
    formatDuration(forwardMs),
    formatDuration(backwardMs),
  );
}

function skippedRows({ skipped }: Profile): (readonly [string, string])[] {
  const full = skipped.filter(({ reason }) => reason === 'out-of-memory');
  const failed = skipped.length - full.length;
  const smallest = full.reduce<(typeof full)[number] | null>(
    (least, cell) =>
      least === null || cell.batch * (cell.tokens + cell.context) < least.batch * (least.tokens + least.context) ? cell : least,
    null,
  );
  return [
    ...(smallest === null
      ? []
      : [
          [
            t('Out of memory'),
            t(
              '{0}, the smallest {1} × {2} tokens after {3}',
              plural(full.length, t('slice'), t('slices')),
              smallest.batch,
              formatCount(smallest.tokens),
              formatCount(smallest.context),
            ),
          ] as const,
        ]),
    ...(failed === 0 ? [] : [[t('Did not run'), plural(failed, t('slice'), t('slices'))] as const]),
  ];
}
