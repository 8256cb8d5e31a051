// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables behind the built-in stories: word lists, sentences as bracketed templates, and plots.
// What the generator may say and the recogniser may accept is decided here and nowhere else.
// No code: reading the tables, telling stories and parsing sentences is in stories.hpp.

#include <array>
#include <string_view>

namespace fount::data {

/// One row of the story tables. `text` is a list of alternatives with `|` between them, the more
/// frequent first, or a list of words without any `|`. An alternative is a row of symbols:
///  - `Name`, the name of another row, is replaced by one of that row's alternatives;
///  - `Name.slot` draws from a word list once a story and repeats that word ever after, so a story
///    keeps its hero and its place; two slots of one list never hold the same word;
///  - `(NP the Toy.thing)` says which phrase the symbols form; it prints nothing;
///  - `<` and `>` open and close a quotation, `/` ends a line;
///  - any other symbol is that word or that mark.
///
/// The generator follows the rows by name. The recogniser follows them by category and joins all
/// rows and all brackets of a category: what is a verb phrase in one template is one everywhere.
struct StoryRow {
  std::string_view category;
  std::string_view name;  // empty: no row refers to it; its words are written out in templates
  std::string_view text;
};

/// Words to choose from, frequent ones first. A list of two (he, she) follows the gender of the
/// name in its slot: the names alternate between boys and girls. A noun that is a subject in one
/// template is seldom an object in another, so that a model that sees a few words back can tell.
inline constexpr std::array story_word_lists = {
    StoryRow{"Name", "Name",
             "Tom Mia Ben Lily Sam Anna Max Zoe Leo Nina Jack Ruby Finn Kate Gus Emma Dan Rosa "
             "Ned Jane Bob Ivy Pip Tess Hugo Lucy Otto Clara Paul Eva"},
    StoryRow{"Subj", "He", "he she"},
    StoryRow{"NP", "Him", "him her"},
    StoryRow{"Det", "His", "his her"},
    StoryRow{"Noun", "Child", "boy girl"},
    StoryRow{"Noun", "Animal",
             "fox cat dog bear duck frog rabbit mouse pig goat hen pony lamb crow kitten puppy "
             "turtle deer swan wolf squirrel donkey"},
    StoryRow{"Noun", "Kin", "mother father sister brother grandma grandpa cousin aunt"},
    StoryRow{"Noun", "Worker", "baker farmer king queen miller doctor sailor teacher"},
    StoryRow{"Noun", "Toy",
             "ball kite drum boat doll hat bell book ring train robot scarf map coin shell flute "
             "whistle ribbon key lantern feather mitten"},
    StoryRow{"Noun", "Fruit", "pear plum peach fig cherry lemon"},
    StoryRow{"Noun", "Dish", "cake pie bun tart loaf pudding"},
    StoryRow{"Noun", "Tool", "bowl spoon pan cup jug pot"},
    StoryRow{"Noun", "Load", "bag box sack basket bucket"},
    StoryRow{"Noun", "Light", "lamp candle torch"},
    StoryRow{"Noun", "Sound", "noise cry splash bang"},
    StoryRow{"Noun", "Flyer", "bird bee butterfly"},
    StoryRow{"Noun", "Home", "house hut cottage tent"},
    StoryRow{"Noun", "Inside",
             "forest garden park field barn meadow town yard cave village orchard"},
    StoryRow{"Noun", "Beside", "river lake pond bridge sea gate mill road wall fence"},
    StoryRow{"Noun", "Spot", "bed table chair bench rock log rug sofa stool bush"},
    StoryRow{"Noun", "Day", "day morning afternoon evening"},
    StoryRow{"Noun", "Cloud", "cloud star rose"},
    StoryRow{"Plural", "Treats", "nuts plums berries seeds beans eggs cherries grapes"},
    StoryRow{"Plural", "Flyers", "birds bees geese"},
    StoryRow{"Plural", "Plants", "trees flowers hills"},
    StoryRow{"Num", "Num", "two three four five six"},
    StoryRow{"Adj", "Look",
             "red blue big green little new yellow small shiny soft round white black pretty "
             "brown golden tiny silver"},
    StoryRow{"Adj", "Nature",
             "kind brave shy clever young funny quiet gentle busy merry lazy polite curious wise"},
    StoryRow{"Adj", "Sad", "sad lonely upset cross worried unhappy"},
    StoryRow{"Adj", "Glad", "happy glad proud pleased thankful"},
    StoryRow{"Adj", "Scared", "scared afraid frightened"},
    StoryRow{"Adj", "Weather", "sunny cold windy warm rainy hot snowy foggy"},
    StoryRow{"Adj", "Good", "good great fine sweet"},
    StoryRow{"Adj", "Nice", "kind good brave clever"},
    StoryRow{"Comp", "Nicer", "brighter softer nicer"},
    StoryRow{"Comp", "Braver", "braver smaller taller quicker"},
    StoryRow{"Adv", "Adv", "softly loudly sadly quickly slowly happily bravely kindly"},
    StoryRow{"VerbI", "Moved", "went ran walked hurried hopped raced"},
    StoryRow{"InfI", "Game", "play sing run jump dance rest read paint"},
    StoryRow{"InfI", "Skill", "swim skate sing climb dance whistle dive juggle"},
    StoryRow{"Said", "Said", "said cried called shouted"},
};

/// Parts of speech of the words written out in templates: for the recogniser such a word stands for
/// all words of its category, so `behind` parses wherever `under` was written. A written word in
/// neither these lists nor those above stands for itself alone.
inline constexpr std::array story_word_classes = {
    StoryRow{"Subj", "", "I we they"},
    StoryRow{"NP", "", "it you me"},
    StoryRow{"Det", "", "the a my some that"},
    StoryRow{"Prep", "", "in on by under behind over from with at past along for up"},
    StoryRow{"Away", "", "home away down together again around"},
    StoryRow{"Conj", "", "and but so"},
    StoryRow{"Sub", "", "when because until"},
    StoryRow{"Start", "", "then soon"},
    StoryRow{"Was", "", "was were"},
    StoryRow{"Is", "", "is are am"},
    StoryRow{"Modal", "", "could can will must"},
    StoryRow{"Did", "", "did do"},
    StoryRow{"Wh", "", "who what where why"},
    StoryRow{"Said", "", "asked answered"},
    StoryRow{"Wanted", "", "wanted loved tried"},
    StoryRow{"Want", "", "want have"},
    StoryRow{"VerbI", "",
             "lived looked sat played came flew fell smiled sang jumped pulled blew broke"},
    StoryRow{"VerbT", "",
             "had took gave saw found lost met heard opened fixed told put followed carried ate"},
    StoryRow{"InfT", "", "find help reach make carry fix teach bring use ask follow shake share"},
    StoryRow{"InfI", "", "sleep go try cry sit stop worry"},
    StoryRow{"Adj", "",
             "hard hungry tired high heavy gone stuck free dark ready wrong sorry mine best"},
    StoryRow{"Noun", "",
             "sun wind sky rain tree fire door back rope voice way bite dream friend glue hill"},
    StoryRow{"Plural", "", "friends days"},
};

/// Phrases that several sentences share.
inline constexpr std::array story_phrases = {
    StoryRow{"NP", "HeroName", "Name.hero"},
    StoryRow{"NP", "HisKin", "His.hero Kin.kin"},
    StoryRow{"NP", "Pal", "the Animal.pal | Name.pal"},
    StoryRow{"NP", "ThePal", "the Animal.pal"},
    StoryRow{"NP", "NewPal", "a Nature Animal.pal named Name.pal"},
    StoryRow{"NP", "HeroKind",
             "a Nature Child.hero named Name.hero | a Nature Animal.kind named Name.hero"},
    StoryRow{"NP", "AToy", "a Look.look Toy.thing"},
    StoryRow{"Subj", "Hero", "He.hero | HeroName"},
    StoryRow{"Lead", "OneDay", "one Day | one Weather Day"},
    StoryRow{"Lead", "AtLast", "at last | (PP in (NP the end))"},
    StoryRow{"When", "Often", "all day | Num times | again and again"},
    StoryRow{"Tag", "HeroSaid", "Said HeroName | He.hero Said | Said HeroName Adv"},
    StoryRow{"Tag", "HeroAsked", "asked HeroName | He.hero asked"},
    StoryRow{"Tag", "PalSaid", "Said Pal | Said Pal Adv"},
    StoryRow{"Tag", "PalAsked", "asked Pal"},
    StoryRow{"Tag", "WorkerSaid", "Said (NP the Worker.a)"},
    StoryRow{"Tag", "Worker2Said", "Said (NP the Worker.b)"},
};

/// Sentences of no particular plot. Every alternative is one sentence with its end mark.
inline constexpr std::array story_sentences = {
    // Who the story is about.
    StoryRow{"Sentence", "Opening",
             "(Lead once upon a time) , (C there was HeroKind) . | "
             "(C there once was HeroKind) . | "
             "(C HeroName (VP was (NP a Nature Child.hero who (VP lived (PP by (NP the "
             "Beside)))))) ."},
    StoryRow{"Sentence", "About",
             "(C Hero (VP loved to (Inf Game.a) and (Inf Game.b))) . | "
             "(C Hero (VP lived (PP in (NP a Home (PP by (NP the Beside)))))) . | "
             "(C Hero (VP was Braver than HisKin)) . | "
             "(Lead every Day) , (C Hero (VP Moved (PP to (NP the Beside)))) ."},
    StoryRow{"Sentence", "Scene",
             "(C (NP the sun) (VP was warm) , and (C (NP the Flyers) (VP sang))) . | "
             "(C (NP the Flyers) (VP flew (PP over (NP the Plants)))) ."},

    // A friend comes by and helps.
    StoryRow{"Sentence", "MeetPal",
             "soon (C Hero (VP met NewPal)) . | (Lead just then) , (C Hero (VP saw NewPal)) ."},
    StoryRow{"Sentence", "AskWhy",
             "< (Q why are you so Sad) ? > PalAsked . | < (Q what is wrong) ? > PalAsked ."},
    StoryRow{"Sentence", "HelpMe",
             "< (Q can you (Inf help me)) ? > HeroAsked . | "
             "< (L please (Inf help me)) ! > HeroSaid ."},
    StoryRow{"Sentence", "PalHelps",
             "< (L yes , (L I (PV can (Inf help you)))) , > PalSaid . | "
             "< (L do not (Inf worry)) , > PalSaid . | "
             "(C ThePal (VP answered)) , < (L I (PV will (Inf help you))) . >"},
    StoryRow{"Sentence", "HeroThanks",
             "< (L thank you) , Name.pal ! > HeroSaid . | "
             "< (L you (PV are so Nice)) , > HeroSaid ."},
    StoryRow{"Sentence", "HeroSad",
             "(C Hero (VP was so Sad)) . | "
             "(C Hero (VP sat (PP by (NP the Beside))) and (VP cried)) . | "
             "(C Hero (VP did not (Inf know what to do))) . | (Q what could Hero do) ?"},

    // How stories end.
    StoryRow{"Sentence", "HappyPair",
             "(C Hero (VP was Glad)) , and so was Pal . | what a Good Day (C it (VP was)) !"},
    StoryRow{"Sentence", "EndPair",
             "(Lead from that Day on) , (C they (VP were (NP best friends))) . | "
             "AtLast , (C they (VP Moved home together)) . | "
             "(C they (VP played until (C (NP the sun) (VP was gone)))) ."},
    StoryRow{"Sentence", "EndKin",
             "(C HisKin (VP was so proud (PP of Him.hero))) . | "
             "(Lead that night) , (C Hero (VP had (NP a Good dream))) . | how Glad He.hero was !"},
};

/// Sentences that belong to one plot, in its order.
inline constexpr std::array story_plot_sentences = {
    // A toy is lost and found.
    StoryRow{"Sentence", "Treasure",
             "(C Hero (VP had AToy)) . | "
             "(C Hero (VP had (NP a Look.look Toy.thing (PP from HisKin)))) ."},
    StoryRow{"Sentence", "Beloved",
             "(C Hero (VP loved it so much)) . | (C it (VP was Nicer than (NP a Cloud))) ."},
    StoryRow{"Sentence", "TakeOut", "OneDay , (C Hero (VP took it (PP to (NP the Inside)))) ."},
    StoryRow{"Sentence", "LoseToy",
             "but when (C Hero (VP came home)) , (C it (VP was gone)) . | "
             "then (C (NP the wind) (VP blew) , and (C it (VP flew away))) ."},
    StoryRow{"Sentence", "Search",
             "(C Hero (VP looked (PP under (NP the Spot))) , but (C it (VP was not there))) . | "
             "(C Hero (VP looked (PP under (NP the Spot.a) and (PP behind (NP the Spot.b))))) ."},
    StoryRow{"Sentence", "WhereIsIt", "(Q where was it) ?"},
    StoryRow{"Sentence", "NotThere", "no , (C it (VP was not there)) ."},
    StoryRow{"Sentence", "TellLost",
             "< (L I (PV can not (Inf find (NP my Toy.thing)))) , > HeroSaid . | "
             "< (L I (VP lost (NP my Look.look Toy.thing))) , > HeroSaid ."},
    StoryRow{"Sentence", "SearchTogether",
             "so (C they (VP looked (PP in (NP the Inside) and (PP by (NP the Beside))))) ."},
    StoryRow{"Sentence", "FindToy", "AtLast , (C they (VP found it (PP under (NP the Spot)))) ."},

    // A fruit hangs too high.
    StoryRow{"Sentence", "SeeFruit",
             "OneDay , (C Hero (VP saw (NP a Look Fruit.food (PP in (NP a tree))))) ."},
    StoryRow{"Sentence", "TooHigh", "but (C it (VP was too high (PP for Him.hero))) ."},
    StoryRow{"Sentence", "WantFruit",
             "< (L I (PV want (NP that Fruit.food))) , > HeroSaid . | "
             "< (L I (PV am so hungry)) , > HeroSaid ."},
    StoryRow{"Sentence", "TryFruit",
             "(C Hero (VP jumped Often) , but (C He.hero (VP could not (Inf reach it)))) . | "
             "(C Hero (VP tried to (Inf reach it)) , but (C He.hero (VP fell down))) ."},
    StoryRow{"Sentence", "FruitPlan",
             "< (L (Inf sit (PP on (NP my back)))) , > PalSaid . | "
             "< (L I (PV can (Inf shake (NP the tree)))) , > PalSaid ."},
    StoryRow{"Sentence", "GetFruit", "AtLast , (C Hero (VP had it)) ."},
    StoryRow{"Sentence", "ShareFruit",
             "(C they (VP sat (PP under (NP the tree))) and (VP ate it)) ."},

    // An animal is stuck.
    StoryRow{"Sentence", "WalkOut",
             "OneDay , (C Hero (VP Moved (PP to (NP the Inside)))) . | "
             "OneDay , (C Hero (VP Moved (PP along (NP the Beside)))) ."},
    StoryRow{"Sentence", "HearCry",
             "(Lead just then) , (C Hero (VP heard (NP a Sound))) . | "
             "< (L (Inf help me)) ! > cried (NP a little voice) ."},
    StoryRow{"Sentence", "WhoIsIt", "(Q who was it) ?"},
    StoryRow{"Sentence", "ItIsPal", "(C it (VP was NewPal)) ."},
    StoryRow{"Sentence", "PalStuck", "< (L I (PV am stuck)) , > PalSaid ."},
    StoryRow{"Sentence", "TryPull", "(C Hero (VP pulled Often) , but (C it (VP was too heavy))) ."},
    StoryRow{"Sentence", "FetchKin",
             "so (C Hero (VP ran home) and (VP told HisKin)) . | "
             "< (L please (Inf bring (NP a rope))) ! > HeroSaid ."},
    StoryRow{"Sentence", "KinComes", "(C HisKin (VP came (PP with (NP a rope)))) ."},
    StoryRow{"Sentence", "PalFree", "(C they (VP pulled again) , and (C it (VP was free))) ."},
    StoryRow{"Sentence", "PalThanks",
             "< (L thank you) , Name.hero ! > PalSaid . | (C ThePal (VP gave Him.hero AToy)) ."},

    // Someone bakes, and needs a tool.
    StoryRow{"Sentence", "WantBake",
             "OneDay , (C Hero (VP wanted to (Inf make (NP a Dish.dish) (PP for HisKin)))) ."},
    StoryRow{"Sentence", "NoTool", "but (C Hero (VP did not (Inf have (NP a Tool.tool)))) ."},
    StoryRow{"Sentence", "AskWorker",
             "so (C Hero (VP asked (NP the Worker.a))) . | "
             "< (Q do you (Inf have (NP a Tool.tool))) ? > HeroAsked ."},
    StoryRow{"Sentence", "WorkerNo",
             "< (L no , (L I (PV do not (Inf have (NP one))))) , > WorkerSaid . | "
             "< (L (Inf ask (NP the Worker.b))) , > WorkerSaid ."},
    StoryRow{"Sentence", "WorkerYes",
             "(C (NP the Worker.b) (VP smiled) and (VP gave Him.hero (NP a Look Tool.tool))) . | "
             "< (L you (PV can (Inf use (NP my Tool.tool)))) , > Worker2Said ."},
    StoryRow{"Sentence", "Bake", "(C Hero (VP put (NP some Treats) (PP in it))) ."},
    StoryRow{"Sentence", "Baked", "soon (C it (VP was ready)) ."},
    StoryRow{"Sentence", "EatDish",
             "(C HisKin (VP took (NP a bite)) and (VP smiled)) . | "
             "(C they (VP sat (PP by (NP the fire))) and (VP ate it)) ."},

    // A noise in the night.
    StoryRow{"Sentence", "Night",
             "(Lead one Weather night) , (C Hero (VP could not (Inf sleep))) . | "
             "(Lead one night) , (C (NP the rain) (VP fell (PP on (NP the Home)))) ."},
    StoryRow{"Sentence", "NightNoise",
             "then (C Hero (VP heard (NP a Sound) (PP at (NP the door)))) ."},
    StoryRow{"Sentence", "Afraid", "(C Hero (VP was so Scared)) ."},
    StoryRow{"Sentence", "WhoIsThere", "< (Q who is there) ? > HeroAsked ."},
    StoryRow{"Sentence", "TakeLight",
             "(C Hero (VP took (NP a Light)) and (VP opened (NP the door))) ."},
    StoryRow{"Sentence", "PalCold", "< (L I (PV am cold and hungry)) , > PalSaid ."},
    StoryRow{"Sentence", "WarmPal",
             "(C Hero (VP gave it (NP some Treats))) . | "
             "< (L you (PV can (Inf sleep (PP in (NP my bed))))) , > HeroSaid ."},
    StoryRow{"Sentence", "NotAfraid", "(C Hero (VP was never Scared again)) ."},

    // Two friends want one toy.
    StoryRow{"Sentence", "HadFriend", "(C Hero (VP had (NP a friend))) ."},
    StoryRow{"Sentence", "FindOne", "OneDay , (C they (VP found AToy)) ."},
    StoryRow{"Sentence", "Mine",
             "< (L it (PV is mine)) ! > HeroSaid . | "
             "< (L I (PV want (NP that Toy.thing))) , > HeroSaid ."},
    StoryRow{"Sentence", "NoMine", "< (L no , (L it (PV is mine))) ! > PalSaid ."},
    StoryRow{"Sentence", "Broke",
             "(C they (VP pulled (When again and again)) , and (C it (VP broke))) ."},
    StoryRow{"Sentence", "Sorry", "< (L I (PV am sorry)) , > HeroSaid ."},
    StoryRow{"Sentence", "SorryToo",
             "< (L we (PV can (Inf fix it))) , > PalSaid . | "
             "< (L we (PV must (Inf share it))) , > PalSaid ."},
    StoryRow{"Sentence", "FixToy", "so (C they (VP fixed it (PP with (NP some glue)))) ."},

    // Learning takes time.
    StoryRow{"Sentence", "WantSkill",
             "(C Hero (VP wanted to (Inf Skill.skill)) , but (C He.hero (VP did not (Inf know "
             "how)))) . | (C Hero (VP could not (Inf Skill.skill))) ."},
    StoryRow{"Sentence", "TrySkill",
             "(C Hero (VP tried Often) , but (C He.hero (VP fell down))) . | "
             "(C Hero (VP tried to (Inf Skill.skill)) , but (C it (VP was too hard))) ."},
    StoryRow{"Sentence", "GiveUp", "< (L I (PV can not (Inf Skill.skill))) , > HeroSaid ."},
    StoryRow{"Sentence", "TeachSkill",
             "< (L I (PV can (Inf teach you))) , > PalSaid . | "
             "< (L you (PV must (Inf try again))) , > PalSaid ."},
    StoryRow{"Sentence", "Practise",
             "so (C Hero (VP tried again) , but (C it (VP was hard))) . | "
             "(Lead every Day) , (C they (VP came (PP to (NP the Beside)))) ."},
    StoryRow{"Sentence", "CanSkill",
             "AtLast , (C Hero (VP could (Inf Skill.skill))) . | "
             "(Lead after Num days) , (C Hero (VP could (Inf Skill.skill))) ."},

    // The way home is lost.
    StoryRow{"Sentence", "GoFar",
             "OneDay , (C Hero (VP followed (NP a Look Flyer) (PP to (NP the Inside)))) ."},
    StoryRow{"Sentence", "LoseWay",
             "soon (C (NP the sky) (VP was dark) , and (C Hero (VP was Scared))) . | "
             "(C Hero (VP looked around) , but (C He.hero (VP did not (Inf know (NP the way))))) "
             "."},
    StoryRow{"Sentence", "AskWay",
             "< (Q can you (Inf bring me home)) ? > HeroAsked . | "
             "< (L I (PV want to (Inf go home))) , > HeroSaid ."},
    StoryRow{"Sentence", "LeadHome",
             "(C they (VP Moved (PP over (NP the Beside.c) , (PP past (NP the Beside.d) , and (PP "
             "along (NP the Beside.e)))))) . | < (L (Inf follow me)) ! > PalSaid ."},
    StoryRow{"Sentence", "SeeHome", "AtLast , (C Hero (VP saw (NP His.hero Home))) ."},

    // A heavy load is carried.
    StoryRow{"Sentence", "MeetWorker",
             "OneDay , (C Hero (VP met (NP a Worker.a) (PP by (NP the Beside)))) ."},
    StoryRow{"Sentence", "HasLoad",
             "(C (NP the Worker.a) (VP had (NP a heavy Load.load))) . | "
             "< (L it (PV is too heavy (PP for me))) , > WorkerSaid ."},
    StoryRow{"Sentence", "OfferCarry",
             "< (L I (PV can (Inf carry (NP that Load.load)))) , > HeroSaid . | "
             "< (Q can I (Inf help you)) ? > HeroAsked ."},
    StoryRow{"Sentence", "Carry",
             "(C they (VP carried it (PP over (NP the Beside) and (PP up (NP a hill))))) . | "
             "(C Hero (VP was tired) , but (C He.hero (VP did not (Inf stop)))) ."},
    StoryRow{"Sentence", "WorkerGift",
             "(C (NP the Worker.a) (VP gave Him.hero AToy)) . | "
             "< (L thank you) , Name.hero ! > WorkerSaid . | "
             "< (L you (PV are so Nice)) , > WorkerSaid ."},
    StoryRow{"Sentence", "RunHome",
             "(C Hero (VP ran home) and (VP told HisKin)) . | "
             "(C Hero (VP ran home because (C He.hero (VP was so Glad)))) ."},
};

/// The plots: which sentence follows which. An empty alternative leaves a sentence out.
inline constexpr std::array story_plots = {
    StoryRow{"Story", "Story",
             "Opening Start / LostToy | Opening Start / HighFruit | Opening Start / StuckPal | "
             "Opening Start / Lesson | Opening Start / WayHome | Opening Start / NightVisit | "
             "Opening Start / Baking | Opening Start / HeavyLoad | Opening Start / Quarrel"},
    StoryRow{"Story", "Start", "About | About Scene | Scene About"},
    StoryRow{"Story", "LostToy",
             "Treasure Beloved TakeOut LoseToy HeroSad / Search MoreSearch / MeetPal AskWhy "
             "TellLost PalHelps SearchTogether FindToy / End"},
    StoryRow{"Story", "MoreSearch", "WhereIsIt NotThere | Search | WhereIsIt |"},
    StoryRow{"Story", "HighFruit",
             "SeeFruit TooHigh WantFruit TryFruit HeroSad / MeetPal HelpMe PalHelps FruitPlan "
             "GetFruit ShareFruit / End"},
    StoryRow{"Story", "StuckPal",
             "WalkOut HearCry WhoIsIt ItIsPal PalStuck / TryPull FetchKin KinComes PalFree "
             "PalThanks / HappyPair EndPair"},
    StoryRow{"Story", "Lesson",
             "WantSkill TrySkill GiveUp HeroSad / MeetPal HelpMe TeachSkill Practise / CanSkill "
             "End"},
    StoryRow{"Story", "WayHome",
             "GoFar LoseWay HeroSad / MeetPal AskWhy AskWay PalHelps LeadHome / SeeHome "
             "HeroThanks EndKin"},
    StoryRow{"Story", "NightVisit",
             "Night NightNoise Afraid WhoIsThere TakeLight / ItIsPal PalCold WarmPal NotAfraid / "
             "EndPair"},
    StoryRow{"Story", "Baking",
             "WantBake NoTool AskWorker WorkerNo / WorkerYes Bake Baked EatDish / EndKin"},
    StoryRow{"Story", "HeavyLoad",
             "MeetWorker HasLoad OfferCarry Carry / WorkerGift RunHome EndKin"},
    StoryRow{"Story", "Quarrel",
             "HadFriend ItIsPal FindOne Mine NoMine / Broke HeroSad Sorry SorryToo FixToy / "
             "HappyPair EndPair"},
    StoryRow{"Story", "End",
             "HeroThanks HappyPair EndPair | HeroThanks EndPair | HappyPair EndPair"},
};

}  // namespace fount::data
