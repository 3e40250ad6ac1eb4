"""What an answer may call the blind kinds, in the words of docs/kinds.md.

The kinds were written by somebody who had not seen the library of explanations; these names were
laid beside them afterwards and before the first blind case was examined. `unknown` stands where the
library has no explanation that fits.
"""

from collections.abc import Mapping

NO_NAME = "unknown sim_to_real_gap"  # of the data: something else differs, and nothing says what

BLIND_NAMES: Mapping[str, str] = {
    "equaliser_left_on": "unknown monotone_curve",
    "fields_not_woven": "unknown",
    "line_length_wrong": "unknown",
    "chroma_read_the_other_way": "colour_matrix colour_space",
    "left_companded": "monotone_curve logarithm gamma saturated",
    "filtered_on_one_channel": "unknown lag blur",
    "levelled_as_it_goes": "unknown scaled_per_sample",
    "divided_by_its_own_sum": "unknown scaled_per_sample",
    "statistics_half_forgotten": "wrong_weights",
    "activations_clipped": "operator_variant",
    "another_activation": "operator_variant",
    "kernels_turned": "wrong_weights",
    "flattened_channels_last": "wrong_weights",
    "pooled_by_the_mean": "operator_variant",
    "first_of_the_best_few": "unknown",
    "votes_of_neighbours": "unknown batch_dependent",
    "answers_in_coarse_steps": "unknown",
    "priors_of_another_site": "unknown threshold",
    "answer_of_the_row_before": "unknown batch_dependent",
    "shares_over_the_rows": "unknown batch_dependent",
    "pixels_burnt_in": f"{NO_NAME} stuck_value",
    "dirt_on_the_window": NO_NAME,
    "hum_of_the_mains": f"{NO_NAME} sensor_noise",
    "packets_lost": f"{NO_NAME} stuck_value",
    "counter_wraps": NO_NAME,
    "one_office_confuses_two": "label_noise",
    "other_laboratory": f"{NO_NAME} channel_scale channel_offset",
}
