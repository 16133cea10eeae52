import { column, formatDuration, formatNumber } from '../../../src/core/format';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { limitText, memoryVerdict, verdictText } from '../../../src/core/memory-model/verdict';
import type { Candidate } from '../../../src/core/planner/plan';
import { say } from '../../../src/core/sentence';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import { capitalised, sentence } from '../../shared/sentence';
import type { Readout } from '../../charts/memory/readout';
import { peakPartName, presentParts, findStage, worstStage } from '../../charts/memory/summary';

/**
 * What one stage holds at its peak, by its parts.
 *
 * @param against the plan that it is compared with, whose bytes are taken off.
 * @param then what it has in use at the selected time of the timeline, in addition to the peak; null: none is selected.
 * @param toPeak leads to the peak in the timeline.
 */
export function stageDetails(
  profile: MemoryProfile,
  stage: StageMemory,
  against: Candidate | null,
  then: Readout | null,
  toPeak: HTMLElement | null,
): HTMLElement[] {
  const other = against === null ? undefined : findStage(against.memory, stage.stage);
  const shareOrDifference = (bytes: number, otherBytes: number | undefined): string =>
    otherBytes === undefined ? column.percent(bytes / stage.peakBytes) : differenceText(bytes - otherBytes);
  const isWorst = worstStage(profile)?.stage === stage.stage;
  const verdict = memoryVerdict({ stages: [stage] });
  /** To the right of the bytes at the peak: those at the selected time, and the share or difference. */
  const right = (thenText: string, shareText: string): (HTMLElement | null)[] => [
    then === null ? null : h('span', { class: 'then' }, thenText),
    then === null || other !== undefined ? h('span', { class: 'share' }, shareText) : null,
  ];
  const bytesThen = new Map(then?.parts);
  const rows = presentParts(profile).map((part) =>
    h(
      'div',
      { class: 'pair' },
      h('dt', {}, h('span', { class: `swatch swatch-${part}` }), peakPartName(part, stage)),
      h(
        'dd',
        {},
        column.bytes(stage.parts[part]),
        ...right(column.bytes(bytesThen.get(part) ?? 0), shareOrDifference(stage.parts[part], other?.parts[part])),
      ),
    ),
  );
  return [
    h(
      'h2',
      {},
      stage.gpu === undefined ? t('Stage {0}', stage.stage) : t('Stage {0}, {1}', stage.stage, stage.gpu),
      isWorst ? h('span', { class: 'tag' }, stage.gpu === undefined ? t('highest') : t('least room')) : null,
    ),
    h('p', { class: `verdict verdict-${verdict.fits ? 'fits' : 'over'}` }, capitalised(say(verdictText(verdict), t))),
    h(
      'dl',
      { class: 'pairs' },
      then === null
        ? null
        : h(
            'div',
            { class: 'pair' },
            h('dt'),
            h('dd', { class: 'pair-titles' }, t('At the peak'), ...right(t('At {0}', formatDuration(then.ms)), '')),
          ),
      ...rows.reverse(),
      h(
        'div',
        { class: 'pair pair-sum' },
        h('dt', {}, t('Peak')),
        h(
          'dd',
          {},
          column.bytes(stage.peakBytes),
          ...right(column.bytes(then?.bytes ?? 0), other === undefined ? '' : differenceText(stage.peakBytes - other.peakBytes)),
        ),
      ),
      ...[
        [
          t('Reserved by the allocator'),
          stage.reservedBytes,
          t("PyTorch's max_memory_reserved: tensors, fragmentation and blocks cached from other moments."),
        ] as const,
        [
          t('GPU memory in use (nvidia-smi)'),
          stage.inUseBytes,
          t('Reserved, with the CUDA context and the buffers of NCCL (nvidia-smi).'),
        ] as const,
      ].map(([name, bytes, about]) =>
        h('div', { class: 'pair', title: about }, h('dt', {}, name), h('dd', {}, column.bytes(bytes), ...right('', ''))),
      ),
    ),
    other === undefined || against === null
      ? null
      : h('p', { class: 'hint' }, t('On the right: more or less than {0}.', say(against.name, t))),
    h(
      'p',
      { class: 'hint' },
      t('The peak is reached in the {0}. At most {1} in flight.', stage.peakOperation, unitsText(stage.unitsInFlight)),
      toPeak === null ? null : ' ',
      toPeak,
    ),
    h('p', { class: 'hint' }, sentence(say(limitText(verdict), t)), ' ', t('Counted as {0} does.', profile.runtime)),
  ].filter((element) => element !== null);
}

/** `+1.2 GiB`, `−300 MiB`, `=`. */
function differenceText(bytes: number): string {
  return bytes === 0 ? '=' : `${bytes < 0 ? '−' : '+'}${column.bytes(Math.abs(bytes))}`;
}

function unitsText(units: number): string {
  return units === 1 ? t('1 unit') : t('{0} units', formatNumber(units));
}
