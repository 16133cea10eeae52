import type { Profile, ProfilePart } from '../../../src/core/domain/profile';
import type { KnownProfile, ProfileState } from '../../../src/protocol/page';
import { setting, type ViewState } from '../../base/view-state';

const file = (saved: unknown): string | null => (typeof saved === 'string' ? saved : null);

/** File of the profile shown; null: the one the plan used, else the newest. */
export const pickedProfile = setting('profile', file, { ofFile: true });

/** File of the profile that it is compared with. */
export const comparedProfile = setting('profileCompare', file, { ofFile: true });

/** Whether both axes of the slice times are logarithmic. */
export const profileLog = setting('profileLog', (saved) => saved === true);

/** What the tab shows: one profile, perhaps compared with another. */
export interface ShownProfile {
  readonly profile: Profile;
  /** Null while it is being measured. */
  readonly known: KnownProfile | null;
  readonly compared: KnownProfile | null;
  readonly part: ProfilePart;
}

/** Parts in the order they are offered. */
export const profileParts: readonly ProfilePart[] = ['layer', 'embedding', 'head'];

export const profilePart = setting('profilePart', (saved) => profileParts.find((known) => known === saved) ?? 'layer');

/**
 * The running measurement, else the selected profile, else the plan's, else the newest that the plan can use, else the newest; null without
 * any.
 */
export function shownProfile(state: ProfileState | null, view: ViewState): ShownProfile | null {
  if (state === null) return null;
  const known = state.running === null ? knownShown(state, view) : null;
  const profile = state.running?.profile ?? known?.profile;
  if (profile === undefined) return null;
  const picked = profilePart.of(view);
  const part = profile.samples[picked].length > 0 ? picked : 'layer';
  const compared = known === null ? null : (comparable(state, known).find((other) => other.file === comparedProfile.of(view)) ?? null);
  return { profile, known, compared, part };
}

/** Profiles that one can be compared with: all others that have a fit. */
export function comparable({ known }: ProfileState, shown: KnownProfile): readonly KnownProfile[] {
  return known.filter(({ file, profile }) => file !== shown.file && profile.fit !== null);
}

function knownShown({ known, used }: ProfileState, view: ViewState): KnownProfile | null {
  const byFile = (file: string | null): KnownProfile | undefined => known.find((candidate) => candidate.file === file);
  return byFile(pickedProfile.of(view)) ?? byFile(used) ?? known.find(({ refusal }) => refusal === null) ?? known[0] ?? null;
}

/** Profiles as a list offers them: name and device. */
export function profileChoices(known: readonly KnownProfile[]): { readonly value: string; readonly text: string }[] {
  return known.map(({ file, name, profile }) => ({ value: file, text: `${name} · ${profile.device.name}` }));
}
