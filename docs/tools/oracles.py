"""What the tests compare each method with, and the names of the methods in ranx and UDLF.

`tests/test_docs.py` checks that every test named here exists and is about its method.
"""

from __future__ import annotations

#: Each fusion method of ranx -> the same here.
RANX = {
    "anz": "combanz",
    "bayesfuse": "bayesfuse",
    "bordafuse": "borda(points=pool)",
    "condorcet": "condorcet(variant=fuse, absent=last)",
    "gmnz": "gmnz(gamma=G)",
    "isr": "isr",
    "log_isr": "log_isr",
    "logn_isr": "logn_isr(sigma=S)",
    "mapfuse": "mapfuse",
    "max": "combmax",
    "med": "combmed(mode=median)",
    "min": "combmin",
    "mixed": "mixed(weights=W)",
    "mnz": "combmnz",
    "posfuse": "posfuse",
    "probfuse": "probfuse(segments=X)",
    "rbc": "rbc(persistence=P)",
    "rrf": "rrf(constant=C)",
    "segfuse": "segfuse(segments=ends)",
    "slidefuse": "slidefuse(window=W)",
    "sum": "combsum",
    "w_bordafuse": "borda(points=pool, weights=W)",
    "w_condorcet": "condorcet(variant=fuse, absent=last, weights=W)",
    "wmnz": "wmnz(weights=W)",
    "wsum": "wsum(weights=W)",
}

#: Each method of UDLF, as in its configuration -> the same here.
UDLF = {
    "BFSTREE": "bfstree",
    "CONTEXTRR": "contextrr",
    "CORGRAPH": "corgraph(exponent=numbers)",
    "CPRR": "cprr",
    "LHRR": "lhrr",
    "RDPAC": "rdpac",
    "RECKNNGRAPH": "recknngraph",
    "RFE": "rfe",
    "RKGRAPH": "rkgraph(pool=last)",
    "RLRECOM": "rlrecom",
    "RLSIM": "rlsim_udl",
}

GOLDEN = "aggregate/graphs/test_rank_graphs_golden.py::"
UDLF_TESTS, GRAPHS, CONTEXT = (
    "aggregate/reranking/test_udlf.py::",
    "aggregate/graphs/test_rank_graphs.py::",
    "aggregate/graphs/test_context.py::",
)
POSITIONS = "aggregate/per_query/test_positions.py::test_inverse_squares_and_centroids"
COMB = "aggregate/per_query/test_scores.py::test_the_formula_worked_by_hand"
WEFT = "weft/test_weft.py::"
RANX_TESTS = "aggregate/test_ranx.py::"
#: Each method -> what its results are compared with -> the test that does.
CHECKED = {
    "bayesfuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "bfstree": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_bfstree_matches_the_oracle",
    },
    "borda": {"ranx": RANX_TESTS + "test_borda_with_points_of_the_pool"},
    "combanz": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "combmax": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "combmed": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "combmin": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "combmnz": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "combsum": {"ranx": RANX_TESTS + "test_the_comb_family_with_min_max", "by hand": COMB},
    "condorcet": {
        "ranx": RANX_TESTS + "test_condorcet_where_majorities_are_strict_and_transitive",
        "plain version": "aggregate/per_query/test_majorities.py::test_wins_match_the_oracle",
    },
    "contextrr": {
        "transcript of UDLF": GOLDEN + "test_udlf_head_matches_a_transcript_of_the_program",
        "plain version": UDLF_TESTS + "test_contextrr_of_whole_lists_matches_the_oracle",
    },
    "corgraph": {
        "UDLF": GOLDEN + "test_corgraph_matches_the_program",
        "plain version": GRAPHS + "test_corgraph_matches_the_oracle",
    },
    "cprr": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_cprr_matches_the_oracle",
    },
    "crossdiffusion": {"plain version": CONTEXT + "test_cross_diffusion_is_exact_for_complete_rows"},
    "dbsf": {
        "qdrant-client": "aggregate/per_query/test_weighted.py::test_dbsf_equals_that_of_the_qdrant_client",
        "plain version": "aggregate/per_query/test_weighted.py::test_dbsf_equals_a_plain_version",
    },
    "fg": {
        "the authors' program": "fusion_graph/test_golden.py::test_similarities_equal_the_programs",
        "plain version": "fusion_graph/test_index.py::test_search_equals_brute_force",
    },
    "gmnz": {"ranx": RANX_TESTS + "test_methods_that_weigh"},
    "helloneighbor": {"plain version": CONTEXT + "test_hello_neighbor_matches_the_oracle"},
    "isr": {"ranx": RANX_TESTS + "test_methods_that_use_positions", "by hand": POSITIONS},
    "kemeny": {"all permutations": "aggregate/per_query/test_kemeny.py::test_up_to_6_items_no_permutation_costs_less"},
    "lhrr": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_lhrr_and_rdpac_match_the_oracle",
    },
    "log_isr": {"ranx": RANX_TESTS + "test_methods_that_use_positions", "by hand": POSITIONS},
    "logn_isr": {"ranx": RANX_TESTS + "test_methods_that_use_positions", "by hand": POSITIONS},
    "logodds": {"bayesian-bm25": "aggregate/per_query/test_weighted.py::test_logodds_equals_that_of_bayesian_bm25"},
    "mapfuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "mc4": {
        "plain version": "aggregate/per_query/test_markov.py::test_the_stationary_distribution_equals_a_plain_version"
    },
    "mixed": {"ranx": RANX_TESTS + "test_methods_that_weigh"},
    "mra": {"by hand": "aggregate/per_query/test_positions.py::test_mra_of_three_rankers_needs_two_lists"},
    "posfuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "probfuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "qalf": {"plain version": "aggregate/per_query/test_adaptive.py::test_matches_the_oracle"},
    "queryrankfusion": {"plain version": "aggregate/graphs/test_query_graph.py::test_matches_the_oracle"},
    "rbc": {"ranx": RANX_TESTS + "test_methods_that_use_positions", "by hand": POSITIONS},
    "rdpac": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_lhrr_and_rdpac_match_the_oracle",
    },
    "recknngraph": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_recknngraph_matches_the_oracle",
    },
    "recknngraphccs": {
        "crecknn": GOLDEN + "test_recknngraphccs_matches_the_program",
        "plain version": GRAPHS + "test_recknngraphccs_matches_the_oracle",
    },
    "rfe": {
        "transcript of UDLF": GOLDEN + "test_udlf_head_matches_a_transcript_of_the_program",
        "plain version": UDLF_TESTS + "test_rfe_matches_the_oracle",
    },
    "rkgraph": {
        "UDLF": GOLDEN + "test_rkgraph_of_three_rankers_matches_the_program",
        "plain version": GRAPHS + "test_rkgraph_matches_the_oracle",
    },
    "rlrecom": {
        "transcript of UDLF": GOLDEN + "test_udlf_head_matches_a_transcript_of_the_program",
        "plain version": UDLF_TESTS + "test_rlrecom_matches_the_oracle",
    },
    "rlsim": {"by hand": COMB},
    "rlsim_udl": {
        "UDLF": GOLDEN + "test_udlf_matches_the_program",
        "plain version": UDLF_TESTS + "test_rlsim_of_one_ranker_matches_the_oracle",
    },
    "rrf": {"ranx": RANX_TESTS + "test_rrf"},
    "sca": {"plain version": CONTEXT + "test_sca_matches_the_oracle"},
    "segfuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "slidefuse": {"ranx": RANX_TESTS + "test_supervised_methods"},
    "vote": {"plain version": "weft/test_vote.py::test_votes_are_those_of_the_plain_version"},
    "weft": {"plain version": WEFT + "test_items_are_found_as_the_plain_version_finds_them"},
    "wmnz": {"ranx": RANX_TESTS + "test_methods_that_weigh"},
    "wsum": {"ranx": RANX_TESTS + "test_methods_that_weigh"},
}
