"""KFP components: types and one call each."""
