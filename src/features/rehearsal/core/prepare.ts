import { ExpectedError } from '../../../core/errors';
import type { Plan } from '../../../core/planner/plan';
import { counted, sentence } from '../../../core/sentence';
import { fittingDesign, neededBytes, type RehearsalDesign, type Scale } from './design';
import { rehearsalMs } from './estimate';
import type { Rehearsal } from './result';

/** What there is to run on. */
export interface RehearsalRoom {
  /** Memory that all processes together may take. */
  readonly usableBytes: number;
  /** Processes that run at a time. */
  readonly cores: number;
}

/** How a rehearsal is asked for. */
export interface RehearsalSettings {
  readonly scale: Scale;
  /** Measured steps. */
  readonly steps: number;
  /** Null: real where there is a core for each stage. */
  readonly clock: Rehearsal['clock'] | null;
}

/** What would be run, and how long that may take. */
export interface PreparedRehearsal {
  readonly design: RehearsalDesign;
  readonly estimatedMs: number;
  readonly fits: boolean;
}

/**
 * What a rehearsal of a plan would run: with as many of the model's layers as fit, where `scale` does not set it. It takes as long as going
 * through the schedule a few times.
 * @throws ExpectedError as `fittingDesign`; `rehearsal-cores`.
 */
export function preparedRehearsal(plan: Plan, { scale, steps, clock }: RehearsalSettings, room: RehearsalRoom): PreparedRehearsal {
  const design = fittingDesign(plan, scale, room.usableBytes);
  const { stages } = design.schedule;
  const processes = clockFor(clock, stages, room.cores) === 'real' ? stages : 1;
  return { design, estimatedMs: rehearsalMs(design, steps, processes), fits: neededBytes(design) <= room.usableBytes };
}

/** The clock that is asked for, or that the cores allow. @throws ExpectedError `rehearsal-cores`. */
export function clockFor(asked: Rehearsal['clock'] | null, stages: number, cores: number): Rehearsal['clock'] {
  if (asked === 'real' && stages > cores)
    throw new ExpectedError(
      'rehearsal-cores',
      sentence`${counted(stages, 'stage')} cannot overlap on ${counted(cores, 'core')}`,
      sentence`rehearse on the virtual clock (--clock virtual), or fewer stages (--stages)`,
    );
  return asked ?? (stages > 1 && stages <= cores ? 'real' : 'virtual');
}
